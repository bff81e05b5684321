"""One line of what Spark says."""

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from framehub.pipeline.failures import FAILURES, reason

WORKER = """Job aborted due to stage failure

  File "worker.py", line 1, in main
Traceback (most recent call last):
  File "source.py", line 9, in read
ValueError: no such part

\tat org.apache.spark"""


ENDED = "Spark's JVM has ended: killed, or out of memory"


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (PySparkException("[NO] There is none.\n;\nProject"), "[NO] There is none."),
        (PySparkException(WORKER), "ValueError: no such part"),
        (PySparkException(WORKER.replace("\nTraceback", " Traceback")), "ValueError: no such part"),
        (Py4JError("An error occurred while calling o7.load.\n: java.x: gone\n\tat y"), "java.x: gone"),
        (Py4JNetworkError("Answer from Java side is empty"), ENDED),
        (ConnectionRefusedError(111, "refused"), ENDED),
        (PySparkException(""), "PySparkException"),
    ],
)
def test_a_failure_is_one_line(failure: Exception, said: str) -> None:
    assert isinstance(failure, FAILURES)
    assert reason(failure) == said
