from framehub.report import markup


def test_a_table_has_its_headings_once_and_in_each_cell() -> None:
    made = markup.table([[markup.text("who", "<a>"), markup.count("how many", 1234)]], "None.", "narrow")
    assert made == (
        '<table class="narrow"><thead><tr><th>who</th><th class="n">how many</th></tr></thead>'
        '<tbody><tr><td data-name="who">&lt;a&gt;</td><td class="n" data-name="how many">1,234</td></tr>'
        "</tbody></table>"
    )


def test_nothing_is_said_in_words() -> None:
    assert markup.table([], "None yet.") == '<p class="none">None yet.</p>'
    assert (markup.text("a", None).html, markup.count("a", 0).html, markup.command(None)) == ("", "", "")


def test_what_strangers_say_is_escaped(evil: str) -> None:
    row = {"outcome": evil, "code": evil, "name": evil, "protocol": evil}
    for made in (markup.outcome(row), markup.called(row), markup.command(evil), markup.text("a", evil).html):
        assert "<script" not in made
        assert "<img" not in made
        assert "\"'" not in made


def test_what_is_unknown_is_left_out() -> None:
    assert "code" not in markup.outcome({"outcome": "ok", "code": None})
    assert "protocol" not in markup.called({"name": "(all others)", "protocol": None})
