"""Options of every command that starts Spark."""

import click


def _conf(_context: click.Context, _parameter: click.Parameter, settings: tuple[str, ...]) -> dict[str, str]:
    pairs = [setting.partition("=") for setting in settings]
    for (name, equals, _), setting in zip(pairs, settings, strict=True):
        if not name or not equals:
            raise click.BadParameter(f"{setting!r} is not NAME=VALUE")
    return {name: value for name, _, value in pairs}


MASTER = click.option(
    "--master",
    metavar="MASTER",
    help="Where Spark runs; by default on all cores of this machine. framehub itself is sent along.",
)
CONF = click.option(
    "--conf",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_conf,
    help="A setting of Spark, such as spark.executor.memory=4g; may be given again.",
)
