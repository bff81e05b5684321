"""Types of messages as they stand on the wire (spec/rpc.md, section 2). Pure."""

from typing import Final

from framehub.codes import Message

QUERY: Final = Message.QUERY.encode()
QUERY_RECEIVED: Final = Message.QUERY_RECEIVED.encode()
RESPONSE_RESULT: Final = Message.RESPONSE_RESULT.encode()
RESPONSE_EXCEPTION: Final = Message.RESPONSE_EXCEPTION.encode()
RESPONSE_UNKNOWN_FUNCTION: Final = Message.RESPONSE_UNKNOWN_FUNCTION.encode()
RESPONSE_RECEIVED: Final = Message.RESPONSE_RECEIVED.encode()
CODER_IDENTITY_QUERY: Final = Message.CODER_IDENTITY_QUERY.encode()
CODER_IDENTITY_FOUND: Final = Message.CODER_IDENTITY_FOUND.encode()
CODER_IDENTITY_NOT_FOUND: Final = Message.CODER_IDENTITY_NOT_FOUND.encode()
HEART_BEAT: Final = Message.HEART_BEAT.encode()
WORKER_REGISTER: Final = Message.WORKER_REGISTER.encode()
INCOMPATIBLE_SPECS_FAILURE: Final = Message.INCOMPATIBLE_SPECS_FAILURE.encode()
WORKER_DESCRIBE: Final = Message.WORKER_DESCRIBE.encode()
FUNCTIONS_QUERY: Final = Message.FUNCTIONS_QUERY.encode()
FUNCTIONS_LIST: Final = Message.FUNCTIONS_LIST.encode()
CANCEL: Final = Message.CANCEL.encode()
QUERY_RETURNED: Final = Message.QUERY_RETURNED.encode()
QUERY_CONFIRMED: Final = Message.QUERY_CONFIRMED.encode()

DIED: Final = b"died"
"""Reason of QUERY_RETURNED: what ran it has died."""
UNSTARTED: Final = b"unstarted"
"""Reason of QUERY_RETURNED: it was not begun."""
