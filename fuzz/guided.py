"""The process that libFuzzer drives: ``python -m fuzz.guided TARGET [options of libFuzzer] [corpora]``.

Started by ``python -m fuzz``, which chooses the options; only this file needs atheris.
"""

import sys
from importlib import import_module

import atheris

if __name__ == "__main__":
    with atheris.instrument_imports(include=["framehub"]):
        target = import_module(f"fuzz.{sys.argv[1]}")
    again = f"{sys.executable} -m fuzz.guided {sys.argv[1]}"  # how libFuzzer starts more of this, for a merge
    atheris.Setup([again, *sys.argv[2:]], target.one_input)
    atheris.Fuzz()
