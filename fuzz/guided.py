"""The process that libFuzzer drives: ``python -m fuzz.guided TARGET [options of libFuzzer] [corpora]``.

Started by ``python -m fuzz``, which chooses the options; only this file needs atheris.
"""

import sys
from importlib import import_module

import atheris

if __name__ == "__main__":
    with atheris.instrument_imports(include=["framehub"]):
        target = import_module(f"fuzz.{sys.argv[1]}")
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target.one_input)
    atheris.Fuzz()
