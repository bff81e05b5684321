"""Write docs/reference/cli.md from the commands themselves: ``make docs``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from framehub.cli.main import COMMANDS, run

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"
WIDTH = 100
HEADER = """\
# Command line

Made from the commands' own help by `make docs`; a test keeps it fresh. Data goes to stdout, everything else
to stderr. An error of framehub's is one line and exit code 1 (3: another process writes that journal);
wrong usage is exit code 2.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEADER, *sections(run, click.Context(run, info_name="framehub"))])


def sections(command: click.Command, context: click.Context) -> Iterator[str]:
    """A section for ``command``, then those of the commands inside it."""
    context.terminal_width = context.max_content_width = WIDTH
    depth = "#" * (context.command_path.count(" ") + 2)
    yield f"{depth} `{context.command_path}`\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if inner is not None and not inner.hidden:
            yield from sections(inner, click.Context(inner, parent=context, info_name=name))


def absent() -> list[str]:
    """Commands whose module is not there: the page cannot be written."""
    from importlib.util import find_spec

    return [name for name, place in COMMANDS.items() if find_spec(place.partition(":")[0]) is None]


def main() -> None:
    """Write the page, or say why not."""
    if missing := absent():
        sys.exit(f"cli reference: no module for {', '.join(missing)} (framehub.cli.main.COMMANDS)")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
