"""``framehub bench``: how fast it is here, beside the limits and its peers."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from framehub.errors import ConfigError

_ROOT: Final = Path(__file__).parents[3]
"""The checkout, if this is one: ``src/framehub/cli`` in it."""


@click.command()
@click.argument("names", nargs=-1, metavar="[mfp|hub|rpc|overload|pipeline|all|NAME]...")
@click.option("--list", "is_list", is_flag=True, help="Say what there is, and measure nothing.")
@click.option("--save", metavar="NAME", help="Keep what was found as benchmarks/results/NAME.md.")
def bench(names: tuple[str, ...], is_list: bool, save: str | None) -> None:
    """Measure, and print ratios against the limits and the peers, all in one run.

    Absolute times say more about the machine than about framehub. All of it takes the better part of an hour;
    a group or a single benchmark less. It needs a checkout of the sources, whose set-up it completes.
    """
    if not (_ROOT / "benchmarks" / "__main__.py").is_file():
        raise ConfigError(
            "benchmarks are not part of the installed package: run this in a checkout of the sources"
        )
    args = [name for name in names if name != "all"]
    args += ["--list"] * is_list + (["--save", save] if save is not None else [])
    for command in (["scripts/setup.sh", "--venv", "dev"], [sys.executable, "-m", "benchmarks", *args]):
        done = subprocess.run(command, check=False, cwd=_ROOT)  # noqa: S603
        if done.returncode:
            raise click.exceptions.Exit(done.returncode)
