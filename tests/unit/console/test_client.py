"""The client for browsers, as it is served."""

from pathlib import Path

from framehub import console
from framehub.console import client


def test_it_is_the_file_that_the_package_carries() -> None:
    shipped = Path(console.__path__[0]) / "static" / "framehub.js"
    page = client.module()
    assert page.body == shipped.read_bytes()
    assert page.type.startswith("text/javascript")


def test_pages_of_any_origin_may_import_it() -> None:
    headers = client.module().headers
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert headers["ETag"].startswith('"')
