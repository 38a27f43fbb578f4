"""Which requests a fault meets: counts, chance, names."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.api_keys import ApiKey
from testbed.faults.rule import CLIENTS_MAX_COUNT, Aim, Deed, RequestSubject, Rule, drawn

PRODUCE = ApiKey.PRODUCE


def rule(aim: Aim | None = None, **settings: Any) -> Rule:
    return Rule(aim or Aim(PRODUCE), Deed.ERROR, **settings)


def asked(client_id: str = "c", **fields: Any) -> RequestSubject:
    return RequestSubject(fields.pop("api", PRODUCE), client_id, **fields)


def met(one: Rule, count: int, client_id: str = "c") -> list[int]:
    return [number for number in range(count) if one.meets(asked(client_id))]


def test_it_leaves_out_the_first_ones_and_ends() -> None:
    assert met(rule(times=2), 5) == [0, 1]
    assert met(rule(after=3), 5) == [3, 4]
    one = rule(after=99, times=1)
    assert met(one, 200) == [99]
    assert one.is_over and one.applied == 1
    assert one.matched == 200, "what comes afterwards is seen"


def test_what_could_not_be_met_does_not_count() -> None:
    one = rule(times=1)
    assert one.meets(asked())
    one.missed()
    assert one.meets(asked()) and not one.meets(asked())


def test_the_same_seed_meets_the_same_requests() -> None:
    first = met(rule(probability=0.3, seed=7), 1000)
    assert first == met(rule(probability=0.3, seed=7), 1000)
    assert first != met(rule(probability=0.3, seed=8), 1000)
    assert 250 < len(first) < 350


def test_other_clients_do_not_change_what_a_client_meets() -> None:
    alone = met(rule(probability=0.5, seed=1), 50)
    one, mixed = rule(probability=0.5, seed=1), []
    for number in range(50):
        met(one, number % 3, "other")
        mixed += [number] if one.meets(asked()) else []
    assert mixed == alone
    assert met(rule(probability=0.5, seed=1), 50, "other") != alone


def test_chance_is_even() -> None:
    draws = [drawn(3, "c", number) for number in range(10_000)]
    assert all(0 <= one < 1 for one in draws)
    assert abs(sum(draws) / len(draws) - 0.5) < 0.02
    assert len(set(draws)) == len(draws)


def test_never_and_always() -> None:
    assert met(rule(probability=0.0), 100) == []
    assert len(met(rule(probability=1.0), 100)) == 100


def test_clients_are_counted_up_to_a_limit() -> None:
    one = rule(probability=0.5)
    for number in range(CLIENTS_MAX_COUNT + 100):
        one.meets(asked(f"c{number}"))
    assert len(one._by_client) == CLIENTS_MAX_COUNT + 1


@pytest.mark.parametrize(
    ("aim", "fields", "expected"),
    [
        (Aim(None), {"api": ApiKey.FETCH}, True),
        (Aim(PRODUCE), {"api": ApiKey.FETCH}, False),
        (Aim(PRODUCE, topic="a"), {"topics": ["b", "a"]}, True),
        (Aim(PRODUCE, topic="a"), {"topics": ["b"]}, False),
        (Aim(PRODUCE, topic="a"), {"all_topics": True}, True),
        (Aim(PRODUCE, topic="orders-*"), {"topics": ["orders-1f"]}, True),
        (Aim(PRODUCE, group="g"), {"groups": ["g"]}, True),
        (Aim(PRODUCE, group="g"), {}, False),
        (Aim(PRODUCE, transactional_id="t"), {"transactional_ids": ["u"]}, False),
        (Aim(PRODUCE, client_id="app-?"), {"client_id": "app-1"}, True),
        (Aim(PRODUCE, client_id="app"), {"client_id": "app-1"}, False),
        (Aim(PRODUCE), {"of_a_node": True}, False),
        (Aim(PRODUCE, nodes=True), {"of_a_node": True}, True),
        (Aim(PRODUCE, nodes=True), {}, False),
    ],
)
def test_which_requests_are_meant(aim: Aim, fields: dict[str, Any], expected: bool) -> None:
    assert rule(aim).meets(asked(**fields)) is expected
