"""The journal as tables: the only room that knows Spark.

read_journal(spark, path)              every row of a journal, as one DataFrame
frames, messages, exchanges, files,    the tables, each from a journal's DataFrame
violations, metrics
endpoint(journal, name, schema)        what was sent to one endpoint or function, as typed columns
remote(name, proxy)                    a remote function as a column function
session()                              a Spark that works out of the box
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from framehub.errors import PipelineError

if find_spec("pyspark") is None:
    raise PipelineError("Spark is not installed: `pip install framehub[spark]`")

from framehub.pipeline.journal import read_journal
from framehub.pipeline.session import session
from framehub.pipeline.stages.endpoint import endpoint
from framehub.pipeline.stages.exchanges import exchanges
from framehub.pipeline.stages.files import files
from framehub.pipeline.stages.frames import frames
from framehub.pipeline.stages.messages import messages
from framehub.pipeline.stages.metrics import metrics
from framehub.pipeline.stages.violations import violations

if TYPE_CHECKING:
    from framehub.pipeline.remote_function import RemoteFunction, remote

__all__ = [
    "RemoteFunction",
    "endpoint",
    "exchanges",
    "files",
    "frames",
    "messages",
    "metrics",
    "read_journal",
    "remote",
    "session",
    "violations",
]


def __getattr__(name: str) -> Any:
    """Those that call functions load sockets: what reads a journal on an executor has no use for them."""
    if name not in ("RemoteFunction", "remote"):
        raise AttributeError(f"module 'framehub.pipeline' has no attribute {name!r}")
    from framehub.pipeline import remote_function

    value = globals()[name] = getattr(remote_function, name)
    return value
