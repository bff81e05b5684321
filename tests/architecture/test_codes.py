"""spec/codes.json and framehub.codes say the same, so that no language invents a number."""

import json
from enum import Enum
from pathlib import Path

from framehub import codes


def test_the_spec_and_the_enums_are_equal(root: Path) -> None:
    enums = {
        name: {member.name: member.value for member in value}
        for name, value in vars(codes).items()
        if isinstance(value, type) and issubclass(value, Enum) and value.__module__ == codes.__name__
    }
    assert json.loads((root / "spec" / "codes.json").read_text()) == enums
