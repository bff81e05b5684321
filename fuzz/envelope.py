"""Any bytes as a payload: an envelope or ``BadEnvelope``. The first byte says how many files came along."""

import contextlib

from framehub.errors import LocalProtocolError
from framehub.mfp import envelope
from framehub.mfp.envelope import BadEnvelope


def one_input(data: bytes) -> None:
    files = tuple((key, b"") for key in range(data[0] % 4)) if data else ()
    payload = data[1:]
    with contextlib.suppress(BadEnvelope):
        envelope.decode_ahead(payload)
    try:
        read = envelope.decode(payload, files)
    except BadEnvelope:
        return
    assert read.endpoint
    assert read.names.keys() == dict(files).keys()
    envelope.error_name(read.error)
    try:
        again = envelope.encode(read.endpoint, read.data, error=read.error, names=dict(read.names))
    except LocalProtocolError:
        return
    same = envelope.decode(again, files)
    assert (same.endpoint, same.data, same.error, same.names) == (
        read.endpoint,
        read.data,
        read.error,
        read.names,
    )
