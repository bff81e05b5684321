"""Write docs/reference/framehub.toml from the settings themselves: ``make docs``."""

from pathlib import Path

from framehub.gateway.config_page import example

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "framehub.toml"

if __name__ == "__main__":
    PAGE.write_text(example())
