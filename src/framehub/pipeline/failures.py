"""What Spark's failures say to people: one line, not the pages that it prints."""

from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

FAILURES: Final = (PySparkException, Py4JError, ConnectionError)
"""What a call of Spark raises when it fails."""

_TRACED: Final = "Traceback (most recent call last)"


def reason(exc: BaseException) -> str:
    """The line that says why: under a worker's traceback if there is one, else the first of its own."""
    if isinstance(exc, Py4JNetworkError | ConnectionError):
        return "Spark's JVM has ended: killed, or out of memory"
    lines = [line.removeprefix(": ") for line in str(exc).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        del lines[0]  # which of its own methods failed helps nobody
    traced = next((number for number, line in enumerate(lines) if _TRACED in line), -1)
    said = next((line for line in lines[traced + 1 :] if not line.startswith(" ")), None)
    return (said or type(exc).__name__).strip()
