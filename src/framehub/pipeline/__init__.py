"""The journal as tables: the only room that knows Spark.

read_journal(spark, path)              every row of a journal, as one DataFrame
frames, messages, exchanges, endpoint  stages: DataFrame to DataFrame
session()                              a Spark that works out of the box
"""

from importlib.util import find_spec

from framehub.errors import PipelineError

if find_spec("pyspark") is None:
    raise PipelineError("Spark is not installed: `pip install framehub[spark]`")

from framehub.pipeline.journal import read_journal
from framehub.pipeline.session import session
from framehub.pipeline.stages.endpoint import endpoint
from framehub.pipeline.stages.exchanges import exchanges
from framehub.pipeline.stages.frames import frames
from framehub.pipeline.stages.messages import messages

__all__ = ["endpoint", "exchanges", "frames", "messages", "read_journal", "session"]
