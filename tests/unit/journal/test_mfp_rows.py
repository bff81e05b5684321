"""Which column holds what; the tap's tests tell it for every kind of frame."""

from framehub.codes import Service
from framehub.journal import columns
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.record import NO_ID
from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame, ServiceFrame

ROWS = LinkRows(b"linklink", 9)
AT = (5, 6)


def test_a_row_says_when_where_and_who() -> None:
    frame = RequestFrame(id=7, payload=b"abc")
    row = ROWS.frame(
        AT, OUT, frame, codec.encode(frame), b"e" * 16, endpoint="e", error="busy", parent=b"p" * 16
    )
    (told,) = columns.to_batch([row]).to_pylist()
    assert (told["time_ns"], told["mono_ns"], told["link"], told["user"]) == (5, 6, b"linklink", 9)
    assert (told["direction"], told["kind"], told["exchange"], told["parent"]) == (
        "out",
        "request",
        b"e" * 16,
        b"p" * 16,
    )
    assert told["raw"][told["payload_at"] :] == b"abc"


def test_labels_stay_off_frames_without_payload() -> None:
    frame = ServiceFrame(id=1, code=Service.ACK, ref=2)
    row = ROWS.frame(AT, IN, frame, codec.encode(frame), NO_ID, endpoint="e", error="x", parent=b"p" * 16)
    (told,) = columns.to_batch([row]).to_pylist()
    assert (told["endpoint"], told["error"], told["parent"], told["exchange"]) == (None, None, None, None)


def test_rows_that_are_no_frames() -> None:
    rows = [
        ROWS.opened(AT),
        ROWS.refused(AT, b"", "nothing"),
        ROWS.closed(AT, 1001, ""),
        ROWS.closed(AT, 1002, "bad"),
    ]
    told = columns.to_batch(rows).to_pylist()
    assert [(row["kind"], row["code"], row["error"], row["refused"], row["recorded"]) for row in told] == [
        ("link_opened", None, None, None, "off"),
        ("refused", None, None, "nothing", "full"),
        ("link_closed", 1001, None, None, "off"),
        ("link_closed", 1002, "bad", None, "off"),
    ]
