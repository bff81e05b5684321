"""The bits of a head do not overlap where they stand side by side."""

from framehub.mfp import layout


def test_flags_of_messages_are_four_bits_beside_the_checksum() -> None:
    flags = (layout.PAYLOAD, layout.SET, layout.STREAM, layout.NEED_ACK, layout.CHECKSUM)
    assert sum(flags) == 0b1_1111
    assert layout.MAP == layout.SET | layout.STREAM


def test_heads_of_frames_with_nothing_but_a_payload() -> None:
    assert (layout.MESSAGE, layout.REQUEST, layout.RESPONSE) == (0x41, 0x61, 0xA1)


def test_the_fixed_parts_have_their_sizes() -> None:
    sizes = [part.size for part in (layout.HEAD, layout.HEAD_REF, layout.HEAD_SIZE, layout.HEAD_REF_KEY)]
    assert [*sizes, layout.HEAD_REF_SIZE.size, layout.U32.size] == [5, 9, 9, 13, 13, 4]
