"""How the columns of a table are called."""

from __future__ import annotations

import pytest


def test_a_field_with_the_name_of_a_records_column_gets_another() -> None:
    from pipeline.columns.records import column_names

    assert column_names(["id", "offset", "Key", "value", ""]) == {
        "": "value_",
        "id": "id",
        "offset": "value_offset",
        "Key": "value_Key",
        "value": "value",
    }


@pytest.mark.parametrize("fields", [["id", "ID"], ["offset", "value_offset"]])
def test_two_fields_of_one_column_are_refused(fields: list[str]) -> None:
    from pipeline.columns.records import column_names
    from pipeline.errors import PipelineError

    with pytest.raises(PipelineError, match=f"the fields {fields[0]} and {fields[1]} would have"):
        column_names(fields)
