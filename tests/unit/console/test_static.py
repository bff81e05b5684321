"""The page's files."""

from framehub.console.static import POLICY, STATIC


def test_the_page_has_a_strict_policy_and_loads_only_what_is_here() -> None:
    page = STATIC["/"]()
    assert page.headers["Content-Security-Policy"] == POLICY
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY
    text = page.body.decode()
    for name in ("console.js", "console.css", "icon.svg"):
        assert f'="{name}"' in text
        assert STATIC[f"/{name}"]().body
    assert b'from"./framehub.js"' in STATIC["/console.js"]().body
    assert "://" not in text, "nothing comes from elsewhere"
