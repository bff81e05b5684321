"""Plans that Spark could not compile: it says so in its log alone, and interprets them.

Above all, a method of Java has 64 KB at most. Every JVM that a test starts writes what it says of that to one
file (``tests/quick_jvm/log4j2.properties``); each test is told, as it ends, of what is new in there.
"""

import os
import tempfile
from pathlib import Path
from typing import Final

VARIABLE: Final = "UNCOMPILED_PLANS"


class Uncompiled:
    """The file of this process and of those that it starts; one is enough for all."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="framehub-uncompiled-")
        self.file = Path(self._directory.name) / "log"
        self._seen = 0
        os.environ[VARIABLE] = str(self.file)

    def check(self) -> None:
        """Fail if a plan could not be compiled since this was last asked."""
        if not self.file.exists() or self.file.stat().st_size <= self._seen:
            return
        with self.file.open("rb") as file:
            file.seek(self._seen)
            said = file.read()
        self._seen += len(said)
        raise AssertionError(f"Spark could not compile a plan:\n{said.decode(errors='replace')}")


UNCOMPILED: Final = Uncompiled()
