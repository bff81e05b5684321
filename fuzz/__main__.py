"""``python -m fuzz TARGET``: feed a target with inputs until one fails.

With atheris the inputs are guided by coverage. Without it they are seeded mutations of the corpus: less
thorough, but the same everywhere. A failing input is kept in out/fuzz; ``--replay FILE`` runs it alone.
"""

import argparse
import re
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from fuzz import mutations, seeds
from scripts import results

ROOMS = {"codec": "mfp", "connection": "mfp", "envelope": "mfp", "hub": "hub", "rpc": "rpc"}
"""Where in src/framehub the targets' subjects live."""
WORK = seeds.ROOT / "out" / "fuzz"
PROGRESS = re.compile(r"^#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\S+)")

NOISE = re.compile(r"(INFO|WARNING):|#\d+\s+(NEW|REDUCE|RELOAD)|#{6} |\"|Done ")
"""Lines of libFuzzer that say nothing of the run."""


def guided(target: str, runs: int, seed: int) -> tuple[int, str]:
    """Let libFuzzer choose; how many inputs there were, and what they reached."""
    found = WORK / target
    found.mkdir(parents=True, exist_ok=True)
    options = [f"-runs={runs}", f"-seed={seed}", "-max_len=1024", "-rss_limit_mb=1024", "-timeout=10"]
    options += [f"-artifact_prefix={WORK}/{target}-", str(found), str(seeds.CORPUS / target)]
    reached, executed = "", 0
    command = [sys.executable, "-m", "fuzz.guided", target, *options]
    with subprocess.Popen(command, cwd=seeds.ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if progress := PROGRESS.match(line):
                executed = int(progress[1])
                reached = f"{progress[2]} points and {progress[3]} features covered, corpus {progress[4]}"
            if not NOISE.match(line):
                print(line, end="", file=sys.stderr, flush=True)
    if process.returncode:
        raise SystemExit(f"{target} failed; the input is in {WORK}: python -m fuzz {target} --replay FILE")
    return executed, reached


def blind(target: str, runs: int, seed: int) -> tuple[int, str]:
    """Mutations without a guide."""
    one_input = import_module(f"fuzz.{target}").one_input
    for data in mutations.mutations(seeds.stored(target), seed, runs):
        try:
            one_input(data)
        except Exception:
            WORK.mkdir(parents=True, exist_ok=True)
            file = WORK / f"{target}-crash"
            file.write_bytes(data)
            print(f"{target} failed: python -m fuzz {target} --replay {file}", file=sys.stderr)
            raise
    return runs, "not guided by coverage"


def merge(target: str) -> None:
    """Keep in the corpus what reaches more than is there, each as short as it was found."""
    folders = [str(seeds.CORPUS / target), str(WORK / target)]
    command = [sys.executable, "-m", "fuzz.guided", target, "-set_cover_merge=1", "-max_len=256", *folders]
    subprocess.run(command, cwd=seeds.ROOT, check=True, capture_output=True)
    sizes = [len(data) for data in seeds.stored(target)]
    print(f"{target}: {len(sizes)} inputs, {sum(sizes):,} bytes")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target", choices=[*seeds.TARGETS, "all"])
    parser.add_argument("--runs", type=int, default=100_000, help="inputs for each target (100,000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices (1)")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run this one input and stop")
    parser.add_argument("--merge", action="store_true", help="keep in fuzz/corpus what long runs found")
    parser.add_argument("--record", action="store_true", help="add a line to benchmarks/results/fuzz-*.md")
    asked = parser.parse_args()
    has_guide = find_spec("atheris") is not None
    if not has_guide:
        print("atheris is not here: inputs are not guided by coverage", file=sys.stderr)
    for target in seeds.TARGETS if asked.target == "all" else [asked.target]:
        if asked.replay:
            import_module(f"fuzz.{target}").one_input(asked.replay.read_bytes())
            print("no failure")
            continue
        if asked.merge:
            merge(target)
            continue
        began = time.monotonic()
        executed, reached = (guided if has_guide else blind)(target, asked.runs, asked.seed)
        seconds = time.monotonic() - began
        rate = executed / seconds
        print(f"{target}: {executed:,} inputs in {seconds:,.1f} s, {rate:,.0f} a second; {reached}")
        if asked.record:
            file = results.add(
                f"fuzz-{ROOMS[target]}",
                f"Fuzzing of {ROOMS[target]}",
                measures=(f"src/framehub/{ROOMS[target]}",),
                command=f"make fuzz ARGS='{target} --runs {asked.runs} --seed {asked.seed}'",
                executions=executed,
                seconds=seconds,
                outcome=f"no failure; {reached}",
            )
            print(f"recorded in {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
