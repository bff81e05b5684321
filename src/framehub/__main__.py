"""``python -m framehub`` is ``framehub``."""

from framehub.cli.main import run

if __name__ == "__main__":
    run(prog_name="framehub")
