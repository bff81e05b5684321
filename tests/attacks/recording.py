"""How the gateways under attack record: sealing a segment takes memory, more than an attack may.

A segment of 128 MiB, the default, takes 180 MiB to seal; when one was full in the middle of an attack, that
looked like the attack's doing.
"""

from typing import Final

from framehub.gateway.recording import RecordingSettings

SMALL_SEGMENTS: Final = RecordingSettings(segment_bytes=4 << 20)
