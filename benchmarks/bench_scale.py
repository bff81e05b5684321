"""Whole runs over 1, 5 and 20 million frames: CPU time must grow with them, memory must not.

The traffic is clean: the run must take in every frame and find no violation.

``framehub pipeline run`` in a process of its own, with a driver of 4 GB. The exponent is that of CPU time as
a power of frames, from the smallest journal to the largest. ``MILLIONS`` in the environment names others, as
in ``MILLIONS=1,5``.
"""

import math
import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.report import Report
from benchmarks.whole_runs import run
from framehub.journal.generate import generate

MEASURES = ("src/framehub/journal", "src/framehub/pipeline")

MILLIONS = [float(word) for word in os.environ.get("MILLIONS", "1,5,20").split(",")]
EXPONENT = 1.1
DRIVER = "spark.driver.memory=4g"


def main(report: Report) -> None:
    cpu: dict[float, float] = {}
    report.say(
        f"{'frames':>12} {'CPU s':>9} {'CPU us a frame':>15} {'s':>8} {'frames/s':>10} {'peak MiB':>9}"
    )
    with tempfile.TemporaryDirectory() as temporary:
        for millions in MILLIONS:
            frames = round(millions * 1e6)
            journal, out = Path(temporary) / "journal", Path(temporary) / "out"
            generate(journal, frames=frames)
            taken, said = run(journal, out, "--conf", DRIVER)
            if sum(said["nodes"].values()) != frames or said["rows"]["violations"]:
                raise RuntimeError(f"clean traffic, and all of it: {said}")
            cpu[millions] = taken.cpu
            report.say(
                f"{frames:12,} {taken.cpu:9.1f} {taken.cpu / frames * 1e6:15.1f} {taken.clock:8.1f} "
                f"{frames / taken.clock:10,.0f} {taken.peak / 2**20:9,.0f}"
            )
            shutil.rmtree(journal)
            shutil.rmtree(out)
    least, most = min(cpu), max(cpu)
    if least < most:
        exponent = math.log(cpu[most] / cpu[least]) / math.log(most / least)
        mark = report.at_most(f"exponent from {least:g} to {most:g} million frames", exponent, EXPONENT, "")
        report.say(f"CPU time grows with the {exponent:.2f}th power of frames, at most {EXPONENT}: {mark}")
