"""The page's files, as they are in the package: built from ``web/`` and ``clients/typescript``."""

from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from typing import Final

from framehub.console import client
from framehub.runtime.pages import Page, asked_again

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "js": client.JAVASCRIPT,
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


@cache
def _file(name: str) -> Page:
    body = files("framehub.console").joinpath("static", name).read_bytes()
    headers = asked_again(body)
    if name.endswith(".html"):
        headers["Content-Security-Policy"] = POLICY
    return Page(body=body, type=_TYPES[name.rpartition(".")[2]], headers=headers)


STATIC: Final[dict[str, Callable[[], Page]]] = {
    "/": partial(_file, "index.html"),
    client.PATH: client.module,
    **{f"/{name}": partial(_file, name) for name in ("console.js", "console.css", "icon.svg")},
}
"""The page and what it loads, by path."""
