from pathlib import Path

from framehub.journal.record import ROW_SCHEMA
from framehub.pipeline import schemas

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "tables.md"


def test_the_reference_page_is_fresh() -> None:
    assert PAGE.read_text() == schemas.as_markdown()


def test_every_column_says_what_it_is() -> None:
    fields = [field for table in (*schemas.TABLES.values(), schemas.FILE) for field in table]
    assert [field.name for field in fields if not field.metadata.get("comment")] == []


def test_tables_are_known_by_node_and_seq_and_have_a_day() -> None:
    for table in schemas.TABLES.values():
        assert {"node", "date"} <= set(table.names)
        assert len(set(table.names)) == len(table.names)


def test_spark_sees_every_column_of_the_journal() -> None:
    assert schemas.journal_schema().names == ROW_SCHEMA.names
    assert schemas.journal_schema(("seq", "node")).names == ["seq", "node"]
