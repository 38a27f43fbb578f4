"""What a test expects: when it is so, and what is said where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ottla.testing import assertions
from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from ottla.testing.topic import NotAsExpected, Topic
from tests.tools.waiting import LIMIT_S
from tests.unit.ottla.testing.scripted_calls import Log, ScriptedCalls, group, partition


def topic_of(log: Log) -> Topic:
    return Topic(ScriptedCalls(records__consume=log.consume, topic__describe={}), "orders")


def produced(log: Log, **how: Any) -> list[bytes | None]:
    found = assertions.produced(topic_of(log), **{"timeout": 0.05, **how})
    return [one.value for one in found]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"key": "k"},
        {"value": b'{"id": 1, "x": 2}'},
        {"value": {"x": 2, "id": 1}},
        {"value": lambda value: value.endswith(b"}")},
        {"headers": {"h": "1"}, "partition": 0},
        {"key": b"k", "count": 1},
    ],
)
def test_a_record_is_found(how: dict[str, Any]) -> None:
    assert produced(Log(b'{"id": 1, "x": 2}'), **how) == [b'{"id": 1, "x": 2}']


@pytest.mark.parametrize(
    "how",
    [
        {"key": "other"},
        {"value": "x"},
        {"value": {"id": 1}},
        {"value": None},
        {"headers": {"h": "2"}},
        {"headers": {"n": None}},
        {"partition": 1},
        {"count": 2},
        {"count": 0},
    ],
)
def test_another_record_is_not(how: dict[str, Any]) -> None:
    with pytest.raises(NotAsExpected, match="1 came\n  orders-0@0 key=b'k'"):
        produced(Log(b"no JSON"), **how)


def test_it_is_waited_for() -> None:
    log = Log(b"a", comes=(b"b", b"c", b"d"))
    assert produced(log, value="c", timeout=LIMIT_S) == [b"c"]
    assert produced(Log(b"a", comes=(b"a",)), value="a", count=2, timeout=LIMIT_S) == [b"a", b"a"]
    assert produced(Log(b"a"), value="x", count=0) == []


def test_what_was_expected_is_said() -> None:
    with pytest.raises(NotAsExpected) as told:
        produced(Log(), key="k1", headers={"h": 1}, count=2)
    assert str(told.value) == (
        "2 records with key='k1', headers={'h': 1} expected in orders within 0.05 s, 0 found: "
        "none came"
    )
    with pytest.raises(NotAsExpected, match=r"there is no topic orders \(there are: none\)"):
        produced(Log(exists=False))


# --- groups --------------------------------------------------------------------------------------


class Groups:
    """One group, as it is looked at again and again."""

    def __init__(self, *looks: Json) -> None:
        self.looks = list(looks)
        self.call = ScriptedCalls(
            group__progress=self._look,
            group__describe=self._look,
            group__list=[{"group": "other", "state": "Empty"}],
        )
        self.topic = Topic(self.call, "orders")

    def _look(self, args: Mapping[str, Json]) -> Json:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]


def test_what_a_group_has_committed() -> None:
    groups = Groups(group(partition(0, 1, 2, 1), partition(1, None, 0, 0)))
    assertions.committed(groups.call, "app", groups.topic, offsets={0: 1}, timeout=0)
    assertions.committed(groups.call, "app", groups.topic, lag=1, timeout=0)
    assertions.committed(groups.call, "app", groups.topic, offsets={0: 1}, lag=1, timeout=0)
    assert groups.call.calls[0] == ("group.progress", {"group": "app", "topics": ["orders"]})
    with pytest.raises(NotAsExpected) as told:
        assertions.committed(groups.call, "app", groups.topic, timeout=0)
    assert str(told.value) == (
        "group app: a lag of 0 in orders expected within 0 s: it is Stable with 1 member (c0)\n"
        "  orders-0: committed 1, end 2, lag 1\n"
        "  orders-1: committed nothing, end 0, lag 0"
    )
    with pytest.raises(NotAsExpected, match=r"offsets {0: 2} and a lag of 0 in orders"):
        assertions.committed(groups.call, "app", groups.topic, offsets={0: 2}, lag=0, timeout=0)


def test_who_has_committed_nothing_has_no_lag_of_0() -> None:
    groups = Groups(group(partition(0, None, 0, 0), state="Dead", members=0))
    with pytest.raises(NotAsExpected, match=r"it is not there \(there are: other\)"):
        assertions.committed(groups.call, "app", groups.topic, timeout=0)


def test_a_group_becomes_idle() -> None:
    busy = group(partition(0, 1, 2, 1))
    moving = group(partition(0, 2, 2, 0), state="PreparingRebalance")
    groups = Groups(busy, moving, group(partition(0, 2, 2, 0)))
    assertions.idle(groups.call, "app", [groups.topic], timeout=LIMIT_S)
    assert len(groups.call.calls) == 3


def test_what_keeps_it_from_that_is_said() -> None:
    groups = Groups(group(partition(0, 1, 2, 1, True), missing=["gone"], members=2))
    with pytest.raises(NotAsExpected) as told:
        assertions.idle(groups.call, "app", [], timeout=0.02)
    assert str(told.value) == (
        "group app: all records read and committed expected within 0.02 s: "
        "it is Stable with 2 members (c0, c1)\n"
        "  there is no topic gone\n"
        "  orders-0: committed 1, end 2, lag 1, a transaction is open"
    )
    many = Groups(group(*(partition(one, 0, 1, 1) for one in range(14))))
    with pytest.raises(NotAsExpected, match="… and 4 more$"):
        assertions.idle(many.call, "app", [], timeout=0)
    with pytest.raises(NotAsExpected, match="it is Stable with 1 member"):
        assertions.idle(Groups(group()).call, "app", [], timeout=0)
    with pytest.raises(Misuse, match="a group has a name"):
        assertions.idle(many.call, "", [], timeout=0)


def test_a_group_is_waited_for() -> None:
    groups = Groups(group(state="CompletingRebalance"), group(), group(members=2))
    assertions.group_state(groups.call, "app", members=2, state="Stable", timeout=LIMIT_S)
    assertions.group_state(groups.call, "app", members=None, state="Stable", timeout=0)
    with pytest.raises(NotAsExpected) as told:
        assertions.group_state(groups.call, "app", members=1, state="Empty", timeout=0)
    with pytest.raises(Misuse, match="no group is ever stable: its states are Stable, Empty, Dead"):
        assertions.group_state(groups.call, "app", members=1, state="stable", timeout=0)
    assert str(told.value) == (
        "group app is not Empty with 1 member within 0 s: it is Stable with 2 members (c0, c1)"
    )


def test_a_share_group_finishes_records() -> None:
    begun = partition(1, None, 0, 0)
    groups = Groups(group(partition(0, 1, 3, 1), begun, type_="share"))
    assertions.committed(groups.call, "app", groups.topic, offsets={0: 1}, lag=1, timeout=0)
    with pytest.raises(NotAsExpected) as told:
        assertions.idle(groups.call, "app", [], timeout=0)
    assert str(told.value) == (
        "group app: all records finished expected within 0 s: it is Stable with 1 member (c0)\n"
        "  orders-0: finished before 1, end 3, lag 1\n"
        "  orders-1: finished nothing, end 0, lag 0"
    )
    with pytest.raises(NotAsExpected, match="group app: a lag of 0 in orders expected"):
        assertions.committed(groups.call, "app", groups.topic, timeout=0)
