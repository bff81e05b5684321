"""framehub itself, sent to the machines of a cluster: they need Python and our dependencies, not us."""

import atexit
import shutil
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pyspark import SparkContext

from framehub.errors import PipelineError

PACKAGES: Final = ("framehub", "pyspark_framehub")
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)


def ship(context: SparkContext | None) -> None:
    """Give the running Spark our packages, as they are on this machine.

    Raises:
        PipelineError: Spark does not run.
    """
    if context is None:
        raise PipelineError("Spark does not run")
    # Executors fetch it when they start, which may be at any time.
    directory = tempfile.mkdtemp(prefix="framehub-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    context.addPyFile(str(pack(Path(directory))))


def pack(directory: Path) -> Path:
    """Write ``framehub.zip`` with all modules; the same modules give the same bytes."""
    target = directory / "framehub.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in PACKAGES:
            spec = find_spec(package)
            if spec is None or not spec.submodule_search_locations:
                raise PipelineError(f"the package {package} is not to be found: install framehub again")
            root = Path(spec.submodule_search_locations[0])
            for file in sorted(root.rglob("*.py")):
                name = f"{package}/{file.relative_to(root)}"
                packed.writestr(zipfile.ZipInfo(name, _LONG_AGO), file.read_bytes())
    return target
