"""Types of the page's JavaScript: each file is checked, each answer of an endpoint has a type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from console.answers import ABSENT, JSON_NAME, Absent
from tests.architecture.sources import ROOT, scripts
from tests.tools.answer_types import AnswerTypes, written


def test_each_script_of_the_page_is_checked() -> None:
    page = ROOT / "console" / "static"
    unchecked = [
        str(path.relative_to(page))
        for path in scripts()
        if page in path.parents and not path.read_text().startswith("// @ts-check\n")
    ]
    assert unchecked == []


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a whole."""

    client_id: str = field(metadata={JSON_NAME: "client-id"})


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole, with its parts."""

    from_: int
    parts: list[Part]
    pair: tuple[str, float | None]
    kind: Literal["a", "b"]
    by_name: dict[str, Any]
    missing: bool | Absent = ABSENT


def test_an_interface_has_the_names_and_types_of_the_json() -> None:
    types = AnswerTypes()
    assert types.type_of(Whole | None) == "Whole | null"
    assert types.interfaces["Whole"] == (
        "  /** A whole, with its parts. */\n"
        "  interface Whole {\n"
        "    from: number;\n"
        "    parts: Part[];\n"
        "    pair: [string, number | null];\n"
        '    kind: "a" | "b";\n'
        "    by_name: Record<string, any>;\n"
        "    missing?: boolean;\n"
        "  }\n"
    )
    assert '"client-id": string;' in types.interfaces["Part"]


def test_what_has_no_json_has_no_type() -> None:
    with pytest.raises(TypeError, match="has no JSON"):
        AnswerTypes().type_of(bytes)


def test_each_path_is_told_what_it_answers() -> None:
    text = written()
    assert '"/api/topics/{}/messages": RecordPage;' in text
    assert '"/api/topics/{}/messages": WrittenRecord;' in text
    assert '"/api/topics/{}/tail": TailEvent;' in text
