from framehub.runtime.calls import Reply


def test_a_reply_has_no_files_unless_given() -> None:
    assert Reply(1) == Reply(1, {}, None)
