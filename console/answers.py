"""The JSON of answers: dataclasses whose fields have the names that the page reads.

A name that Python reserves ends with an underscore in the class (`from_`). A field with the value
`ABSENT` is left out of the JSON; this differs from null. `tests.tools.answer_types` generates the
types of the page's JavaScript from these classes.
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
"""The key, in the metadata of a field, of a JSON name that is no valid name in Python."""


def to_json(answer: object) -> str:
    """Return an answer as JSON. Raises TypeError for a value that is no dataclass of answers."""
    return json.dumps(answer, separators=(",", ":"), default=fields_of)


def fields_of(answer: object) -> dict[str, object]:
    """Return the fields of a dataclass by their names in JSON, without those that are ABSENT."""
    shown = {}
    for name, json_name in names_of(cast(Hashable, type(answer))):
        value = getattr(answer, name)
        if value is not ABSENT:
            shown[json_name] = value
    return shown


@cache
def names_of(kind: Hashable) -> tuple[tuple[str, str], ...]:
    """Return (name in Python, name in JSON) of each field of a dataclass.

    Raises TypeError for any other class.
    """
    own = fields(cast(Any, kind))
    return tuple(
        (field.name, field.metadata.get(JSON_NAME, field.name.rstrip("_"))) for field in own
    )
