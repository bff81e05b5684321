"""Write docs/reference/tables.md from the tables' schemas: ``make docs``."""

from pathlib import Path

from framehub.pipeline import schemas

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "tables.md"

if __name__ == "__main__":
    PAGE.write_text(schemas.as_markdown())
