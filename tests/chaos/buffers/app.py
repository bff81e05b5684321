"""What the gateway of ``make buffers`` serves."""

from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints

endpoints = Endpoints()


@endpoints.on("size")
def size(call: Call) -> int:
    """How many bytes came."""
    return len(call.files[1].data)
