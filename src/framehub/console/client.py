"""``/framehub.js``: the client for browsers, as every port with pages serves it."""

from functools import cache
from importlib.resources import files
from typing import Final

from framehub.runtime.pages import Page, asked_again

PATH: Final = "/framehub.js"
JAVASCRIPT: Final = "text/javascript; charset=utf-8"


@cache
def module() -> Page:
    """One ES module, made by ``clients/typescript``; pages of any origin may import it.

    Nothing in it is secret, and who may connect is decided when somebody does.
    """
    body = files("framehub.console").joinpath("static", "framehub.js").read_bytes()
    anywhere = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
    return Page(body=body, type=JAVASCRIPT, headers={**asked_again(body), **anywhere})
