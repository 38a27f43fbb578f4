"""Answers as the browser is sent them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from console.answers import ABSENT, JSON_NAME, Absent, to_json


@dataclass(frozen=True, slots=True)
class Inner:
    """Something in an answer."""

    from_: int
    client_id: str = field(metadata={JSON_NAME: "client-id"})


@dataclass(frozen=True, slots=True)
class Outer:
    """An answer with something in it."""

    inner: list[Inner]
    missing: str | None | Absent = ABSENT
    pair: tuple[int, str] | Absent = ABSENT


def test_an_answer_has_the_names_of_the_page_and_nothing_that_is_absent() -> None:
    assert to_json(Outer([Inner(1, "a")])) == '{"inner":[{"from":1,"client-id":"a"}]}'


def test_null_is_not_absent() -> None:
    answer = Outer([], missing=None, pair=(1, "ö"))
    assert json.loads(to_json(answer)) == {"inner": [], "missing": None, "pair": [1, "ö"]}


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(TypeError):
        to_json({"bytes": b"x"})
