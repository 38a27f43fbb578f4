"""Answers of endpoints as JSON: dataclasses, whose fields are named as the page reads them.

A name that Python keeps for itself ends with an underscore there (`from_`). A field that the page
does not get at all, which is another thing than null, is `ABSENT`. `answer_types` makes the types
of the page's JavaScript out of these classes.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any, Final, cast


class Absent(Enum):
    """The value of a field that is left out of the JSON."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
JSON_NAME = "json_name"
"""In the metadata of a field: its name in JSON, where that is no name in Python."""


def to_json(answer: object) -> str:
    """Return what the browser is sent. Raises TypeError for what is no answer."""
    return json.dumps(answer, separators=(",", ":"), default=fields_of)


def fields_of(answer: object) -> dict[str, object]:
    """Return the fields of a dataclass that are there, by their names in JSON."""
    found = {}
    for name, json_name in names_of(cast(Hashable, type(answer))):
        value = getattr(answer, name)
        if value is not ABSENT:
            found[json_name] = value
    return found


@cache
def names_of(kind: Hashable) -> tuple[tuple[str, str], ...]:
    """Return the names of a dataclass's fields, here and in JSON. Raises TypeError for another."""
    known = fields(cast(Any, kind))
    return tuple((one.name, one.metadata.get(JSON_NAME, one.name.rstrip("_"))) for one in known)
