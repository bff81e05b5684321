"""Files of a folder as pages, and what is not one of them."""

import os
from pathlib import Path

import pytest

from framehub.errors import ConfigError
from framehub.runtime.entrance import Refused
from framehub.runtime.folder import MOST_BYTES, Folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with something in it, and something beside it."""
    root = tmp_path / "site"
    (root / "sub").mkdir(parents=True)
    (root / "index.html").write_text("<p>first")
    (root / "sub" / "index.html").write_text("<p>second")
    (root / "sub" / "a b.JS").write_text("1")
    (root / "größe.png").write_bytes(b"x")
    (root / "any.thing").write_bytes(b"y")
    (root / ".env").write_text("secret")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    return root


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        ("/", b"<p>first", "text/html; charset=utf-8"),
        ("/index.html", b"<p>first", "text/html; charset=utf-8"),
        ("/sub/", b"<p>second", "text/html; charset=utf-8"),
        ("/sub/a%20b.JS", b"1", "text/javascript; charset=utf-8"),
        ("/gr%C3%B6%C3%9Fe.png", b"x", "image/png"),
        ("/any.thing", b"y", "application/octet-stream"),
    ],
)
def test_a_file_is_found_by_its_name(root: Path, path: str, body: bytes, kind: str) -> None:
    page = Folder(root).find(path)
    assert page is not None
    assert (page.body, page.type) == (body, kind)
    assert page.headers["ETag"].startswith('"')
    assert page.headers["Cache-Control"] == "no-cache"
    assert page.headers["Content-Security-Policy"] == "frame-ancestors 'self'"


@pytest.mark.parametrize(
    "path",
    [
        *("", "index.html", "*", "//", "//index.html", "/sub//index.html", "/nowhere", "/sub", "/nowhere/"),
        *("/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt"),
        *(
            "/%2e%2e%2fsecret.txt",
            "/sub/..\\..\\secret.txt",
            "/./index.html",
            "/index.html/",
            "/index.html/x",
        ),
        *(
            "/.env",
            "/.git/config",
            "/%2egit/config",
            "/index.html%00",
            "/index.html%00.png",
            "/%ff",
            "/" + "a" * 300,
        ),
        *("/" + "a/" * 5_000, "/%252e%252e/secret.txt", "http://other.example/index.html"),
    ],
)
def test_nothing_else_is_found(root: Path, path: str) -> None:
    assert Folder(root).find(path) is None


def test_no_link_is_followed(root: Path) -> None:
    (root / "out.txt").symlink_to(root.parent / "secret.txt")
    (root / "in.html").symlink_to(root / "index.html")
    (root / "up").symlink_to(root.parent)
    for path in ("/out.txt", "/in.html", "/up/secret.txt"):
        assert Folder(root).find(path) is None


def test_the_folder_itself_may_be_a_link(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    assert Folder(link).find("/") is not None


def test_what_is_no_file_is_not_opened_for_long(root: Path) -> None:
    os.mkfifo(root / "pipe.txt")
    assert Folder(root).find("/pipe.txt") is None


def test_a_file_is_read_again_when_it_changes(root: Path) -> None:
    folder = Folder(root)
    first = folder.find("/")
    (root / "index.html").write_text("<p>other")
    second = folder.find("/")
    assert first is not None
    assert second is not None
    assert second.body == b"<p>other"
    assert first.headers["ETag"] != second.headers["ETag"]


def test_files_up_to_a_bound(root: Path) -> None:
    (root / "big").write_bytes(bytes(MOST_BYTES))
    (root / "bigger").write_bytes(bytes(MOST_BYTES + 1))
    page = Folder(root).find("/big")
    assert page is not None
    assert len(page.body) == MOST_BYTES
    with pytest.raises(Refused, match="bigger has 4194305 bytes: files over 4194304 are not served"):
        Folder(root).find("/bigger")


def test_a_folder_has_to_be_one(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"static = .*: No such file or directory"):
        Folder(root / "nowhere")
    with pytest.raises(ConfigError, match="Not a directory"):
        Folder(root / "index.html")
