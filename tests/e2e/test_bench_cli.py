"""``framehub bench`` in this checkout: what there is, and names that are none."""

from .conftest import Cli


def test_it_lists_what_it_measures(cli: Cli) -> None:
    done = cli("bench", "hub", "--list")
    assert done.returncode == 0, done.stderr
    assert "hub_crowd    Ten thousand connections" in done.stdout


def test_a_name_that_is_none_is_wrong_usage(cli: Cli) -> None:
    done = cli("bench", "speed")
    assert (done.returncode, "no benchmark speed; there are: mfp," in done.stderr) == (2, True)
