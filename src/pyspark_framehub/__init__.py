"""Lets Spark find ``spark.read.format("framehub")`` in any session: it looks for ``pyspark_*`` modules."""

from framehub.pipeline.source import JournalSource as DefaultSource

__all__ = ["DefaultSource"]
