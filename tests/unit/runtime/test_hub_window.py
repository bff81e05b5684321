from framehub.runtime.hub_window import MARK, WINDOW, Window


def test_it_is_full_until_a_pong_tells_that_something_was_read() -> None:
    window = Window()
    assert window.sent(MARK - 1) is None
    first = window.sent(1)
    window.marked()
    marks = []
    while not window.is_full:
        marks.append(window.sent(MARK))
        window.marked()
    assert len(marks) == WINDOW // MARK - 1
    assert first is not None
    assert window.heard(first)
    assert not window.is_full
    assert not window.heard(first)
    assert marks[-1] is not None
    assert window.heard(marks[-1])
    assert window.sent(WINDOW - 1) is not None
    assert not window.is_full


def test_other_pongs_tell_nothing() -> None:
    window = Window()
    mark = window.sent(WINDOW)
    assert mark is not None
    window.marked()
    for body in (b"", b"\0" * 8, b"read?", mark + b"!", b"read?" + bytes(8)):
        assert not window.heard(body)
    assert window.is_full


def test_without_a_ping_on_its_way_there_is_nothing_to_wait_for() -> None:
    window = Window()
    assert window.sent(2 * WINDOW) is not None
    assert not window.is_full
    assert window.sent(1) is not None
