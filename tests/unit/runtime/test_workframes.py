from hypothesis import given
from hypothesis import strategies as st

from framehub.runtime.workframes import FRAME, READ_BYTES, READ_MORE_BYTES, Inbox

frames = st.lists(
    st.tuples(st.integers(0, 255), st.integers(0, 2**64 - 1), st.binary(max_size=40)), max_size=6
)


@given(frames, st.lists(st.integers(1, 50)))
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    sent: list[tuple[int, int, bytes]], cuts: list[int]
) -> None:
    data = b"".join(FRAME.pack(len(body), kind, number) + body for kind, number, body in sent)
    inbox = Inbox()
    heard: list[tuple[int, int, bytes]] = []
    for cut in cuts:
        heard += inbox.feed(data[:cut])
        data = data[cut:]
    heard += inbox.feed(data)
    assert heard == sent


def test_more_is_read_at_once_of_a_long_frame() -> None:
    inbox = Inbox()
    assert inbox.read_bytes == READ_BYTES
    assert list(inbox.feed(FRAME.pack(READ_BYTES + 3, 6, 1) + b"ab")) == []
    assert inbox.read_bytes == READ_MORE_BYTES
    assert list(inbox.feed(b"c")) == []
    assert inbox.read_bytes == READ_BYTES
    assert list(inbox.feed(bytes(READ_BYTES))) == [(6, 1, b"abc" + bytes(READ_BYTES))]
