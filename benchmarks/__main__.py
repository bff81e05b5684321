"""``python -m benchmarks [--list] [NAME...]``: run every ``bench_*.py`` beside this file, or those named."""

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent


def names() -> list[str]:
    return sorted(file.stem.removeprefix("bench_") for file in HERE.glob("bench_*.py"))


def first_line(name: str) -> str:
    doc = import_module(f"benchmarks.bench_{name}").__doc__ or ""
    return doc.strip().partition("\n")[0]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, and print ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}; all by default")
    parser.add_argument("--list", action="store_true", help="say what there is and stop")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.names) - set(names())):
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(names())}")
    for name in asked.names or names():
        if asked.list:
            print(f"{name:12} {first_line(name)}")
            continue
        print(f"== {name}: {first_line(name)}", flush=True)
        began = time.perf_counter()
        import_module(f"benchmarks.bench_{name}").main()
        print(f"   ({time.perf_counter() - began:.1f} s)\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
