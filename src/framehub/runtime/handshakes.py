"""TLS openings that the other side breaks off: nothing to log, however many there are.

The transport below reports one as an exception class where the log of asyncio wants an exception, and logging
fails on that with a traceback of its own. Whoever dials gets ``ConnectFailed``; a listener counts it.
"""

import logging


class _Broken(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not (isinstance(record.exc_info, tuple) and isinstance(record.exc_info[1], type))


_broken = _Broken()


def hush() -> None:
    """Keep records that cannot be printed out of asyncio's log; as often as you like."""
    logging.getLogger("asyncio").addFilter(_broken)
