"""The journal as tables: the only room that knows Spark.

read_journal(spark, path)              every row of a journal, as one DataFrame
frames, messages, exchanges, files,    the tables, each from a journal's DataFrame
violations, metrics
endpoint(journal, name, schema)        what was sent to one endpoint or function, as typed columns
remote(name, proxy)                    a remote function as a column function
session()                              a Spark that works out of the box
"""

from importlib.util import find_spec

from framehub.errors import PipelineError

if find_spec("pyspark") is None:
    raise PipelineError("Spark is not installed: `pip install framehub[spark]`")

from framehub.pipeline.journal import read_journal
from framehub.pipeline.remote import RemoteFunction, remote
from framehub.pipeline.session import session
from framehub.pipeline.stages.endpoint import endpoint
from framehub.pipeline.stages.exchanges import exchanges
from framehub.pipeline.stages.files import files
from framehub.pipeline.stages.frames import frames
from framehub.pipeline.stages.messages import messages
from framehub.pipeline.stages.metrics import metrics
from framehub.pipeline.stages.violations import violations

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
