"""``python -m benchmarks [--list] [--save NAME] [NAME...]``: measure all, or what is named."""

import argparse
import shlex
import sys
import time
from importlib import import_module
from pathlib import Path

from benchmarks.report import Report

HERE = Path(__file__).parent
GROUPS = {
    "mfp": ("codec", "requests", "peers", "stream", "big_file", "connections", "websockets"),
    "rpc": ("rpc", "columns"),
    "hub": ("hub", "hub_crowd"),
    "overload": ("overload_mfp", "overload_zmq", "overload_handlers"),
    "pipeline": ("frames", "decode", "run", "scale", "follow"),
}
"""Parts of the whole, by one name each."""


def names() -> list[str]:
    return sorted(file.stem.removeprefix("bench_") for file in HERE.glob("bench_*.py"))


def chosen(asked: list[str]) -> list[str]:
    """Those asked for, groups spelled out, none twice; all if nothing was asked for."""
    grouped = [name for names_ in GROUPS.values() for name in names_]
    every = grouped + [name for name in names() if name not in grouped]
    wanted = [name for word in asked for name in GROUPS.get(word, (word,))]
    return list(dict.fromkeys(wanted or every))


def first_line(name: str) -> str:
    doc = import_module(f"benchmarks.bench_{name}").__doc__ or ""
    return doc.strip().partition("\n")[0]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, and print ratios.")
    known = [*GROUPS, *names()]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; all by default")
    parser.add_argument("--list", action="store_true", help="say what there is and stop")
    parser.add_argument("--save", metavar="NAME", help="keep what was found as benchmarks/results/NAME.md")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.names) - set(known)):
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
    if asked.list:
        for group, members in GROUPS.items():
            print(f"{group:12} {', '.join(members)}")
        for name in chosen(asked.names):
            print(f"{name:12} {first_line(name)}")
        return 0
    report = Report()
    for name in chosen(asked.names):
        module = import_module(f"benchmarks.bench_{name}")
        report.section(f"{name}: {first_line(name)}", module.MEASURES)
        began = time.perf_counter()
        module.main(report)
        print(f"   ({time.perf_counter() - began:.1f} s)\n", flush=True)
    if report.targets:
        print("== targets", *report.summary(), sep="\n   ")
    if asked.save:
        command = f'make bench ARGS="{shlex.join(sys.argv[1:])}"'
        print(f"saved in {report.save(asked.save, command)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
