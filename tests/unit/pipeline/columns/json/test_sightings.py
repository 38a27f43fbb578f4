"""What was seen in records goes to the driver as a text, and is merged there."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("pyspark")

from hypothesis import given

from pipeline.columns.json.parsing import JsonParser
from pipeline.columns.json.sightings import Sighting, field_count, sighting_of
from tests.unit.pipeline.columns.json.random_values import OBJECTS


def seen(*values: Any) -> Sighting:
    sighting = Sighting()
    for value in values:
        text = value if isinstance(value, str) else json.dumps(value)
        sighting.see(JsonParser().parse(text))
    return sighting


@pytest.mark.parametrize(
    ("raw", "kinds"),
    [
        *(("1", {"long"}), ("-9223372036854775808", {"long"}), ("9223372036854775808", {"huge"})),
        *(("9007199254740993", {"long", "inexact"}), (f"{10**38 - 1}", {"huge", "inexact"})),
        *((f"{10**38}", {"beyond", "inexact"}), (f"{2**128}", {"beyond"}), ("1.0", {"fraction"})),
        *(("1e5", {"fraction"}), ("1e400", {"infinite"}), ("null", set()), ("true", {"boolean"})),
        *(('"1"', {"text"}), ("[]", {"array"}), ("{}", {"object"})),
    ],
)
def test_kinds(raw: str, kinds: set[str]) -> None:
    assert seen(raw).kinds == kinds


@given(OBJECTS, OBJECTS)
def test_what_two_tasks_have_seen_is_what_one_would_have(left: Any, right: Any) -> None:
    whole = seen(*left, *right)
    merged = sighting_of(seen(*left).to_text())
    merged.merge(sighting_of(seen(*right).to_text()))
    assert merged.to_text() == whole.to_text()


def test_what_lies_too_deep_is_not_looked_into() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = {"a": deep}
    sighting, levels = seen(deep), 0
    while sighting.fields:
        sighting, levels = sighting.fields["a"], levels + 1
    assert (levels, sighting.kinds) == (32, {"deep"})


def test_fields_of_a_value() -> None:
    assert field_count({"a": [{"b": 1}, {"b": {"c": 1}}], "d": None}) == 5
