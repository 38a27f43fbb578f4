"""Which brokers are a test's: of its own, of the fixtures that it asks for, and of no others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ottla.testing.broker import Broker
from ottla.testing.made_brokers import MadeBrokers, Maker


def fixture(where: str, *asks: str) -> Any:
    return SimpleNamespace(baseid=where, argnames=asks)


def item(name: str, *asks: str, **known: list[Any]) -> pytest.Item:
    info = SimpleNamespace(names_closure=list(asks), name2fixturedefs=known)
    return cast(pytest.Item, SimpleNamespace(nodeid=name, _fixtureinfo=info))


def made(*makers: Maker) -> MadeBrokers:
    one = MadeBrokers()
    for maker in makers:
        one.under_way.append(maker)
        one.add(cast(Broker, maker), offset=3)
        one.under_way.pop()
    return one


def used(one: MadeBrokers, by: pytest.Item) -> list[object]:
    assert all(offset == 3 for _, offset in one.used_by(by))
    return [broker for broker, _ in one.used_by(by)]


def test_of_the_test_and_of_its_fixtures() -> None:
    one = made(("a", ""), ("b", ""), ("", "mine"), ("", "other"))
    test = item("a", "mine", mine=[fixture("")], other=[fixture("")])
    assert used(one, test) == [("a", ""), ("", "mine")]
    assert used(one, cast(pytest.Item, SimpleNamespace(nodeid="b"))) == [("b", "")], "no function"


def test_of_what_its_fixtures_ask_for() -> None:
    one = made(("", "outer"), ("", "inner"), ("", "other"))
    known = {"outer": [fixture("", "inner", "gone")], "inner": [fixture("", "outer")]}
    assert used(one, item("a", "outer", **known)) == [("", "outer"), ("", "inner")]


def test_where_several_have_a_name_the_last_one_counts() -> None:
    one = made(("", "mine"), ("sub", "mine"), ("sub2", "mine"))
    test = item("sub2/test_a.py::test_a", "mine", mine=[fixture(""), fixture("sub2")])
    assert used(one, test) == [("sub2", "mine")]
    asking = item("a", "mine", mine=[fixture(""), fixture("sub2", "mine")])
    assert used(one, asking) == [("", "mine"), ("sub2", "mine")]
    wrong = item("a", "mine", mine=[fixture("sub2", "mine")])
    assert used(one, wrong) == [("sub2", "mine")]
