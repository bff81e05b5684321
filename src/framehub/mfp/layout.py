"""Bits and numbers of MFP frames (spec/mfp.md, sections 2 to 6). Pure.

service            head id ref                                              [sum]
message, request   head id     [size payload] [size map] [payload] [map] [files] [sum]
response           head id ref [size payload] [size map] [payload] [map] [files] [sum]
binary             head id ref [key] [bytes]                                [sum]

head = protocol:3 checksum:1 flags:4; every number is unsigned and big-endian
"""

import struct
from typing import Final

from framehub.codes import Protocol

MAX_U32: Final = 2**32 - 1
SMALL_BYTES: Final = 16 * 1024
"""Longer frames are worth some care not to copy them."""

CHECKSUM: Final = 0b1_0000
PAYLOAD: Final = 0b0001
MAP: Final = 0b0110  # both bits: a map of files, then the files
SET: Final = 0b0010  # alone: a set of announced keys
STREAM: Final = 0b0100  # alone: a stream begins
NEED_ACK: Final = 0b1000
OWN: Final = 0b1000  # service frames only
MORE: Final = 0b0001  # binary frames only

REQUEST: Final = Protocol.REQUEST << 5 | PAYLOAD
RESPONSE: Final = Protocol.RESPONSE << 5 | PAYLOAD
MESSAGE: Final = Protocol.MESSAGE << 5 | PAYLOAD

HEAD: Final = struct.Struct(">BI")
HEAD_REF: Final = struct.Struct(">BII")
HEAD_SIZE: Final = struct.Struct(">BII")
HEAD_REF_KEY: Final = struct.Struct(">BIII")
HEAD_REF_SIZE: Final = struct.Struct(">BIII")
U32: Final = struct.Struct(">I")
TWO_U32: Final = struct.Struct(">II")
