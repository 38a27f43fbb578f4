"""What a test expects of a share group's records: when it is so, and what is said otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ottla.testing import share_assertions
from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from ottla.testing.records import Record
from ottla.testing.share_assertions import Expected
from ottla.testing.topic import NotAsExpected, Topic
from tests.tools.waiting import LIMIT_S
from tests.unit.ottla.testing.scripted_calls import Log, ScriptedCalls, group

VALUES = (b"before", b"done", b"bad", b"again", b"moving", b"held", b"new")
RANGES = [
    [1, 1, "acknowledged", 1],
    [2, 2, "archived", 3],
    [3, 3, "available", 2],
    [4, 4, "archiving", 3],
    [5, 5, "available", None],
]


def deliveries(*ranges: Json, start: int | None = 1, end: int = 6, **fields: Any) -> Json:
    """The answer of `group.deliveries`: by default, offsets 0 to 5 were there when it was made."""
    partition = {"topic": "jobs", "partition": 0, "start": start, "end": end, "ranges": ranges}
    return group(partition, type_="share", **fields)


class Group:
    """A share group, as it is looked at again and again, and the topic `jobs`."""

    def __init__(self, *looks: Json, log: Log | None = None, letters: Log | None = None) -> None:
        self.looks = list(looks)
        self.logs = {"jobs": log or Log(*VALUES), "dlq.jobs": letters or Log()}
        self.queue: dict[str, Json] = {"topic": "dlq.jobs", "problem": None}
        self.call = ScriptedCalls(
            records__consume=lambda args: self.logs[args["topic"]].consume(args),
            topic__describe={"jobs": {}},
            group__deliveries=self._look,
            group__dead_letters=lambda _: self.queue,
            group__list=[],
        )
        self.topic = Topic(self.call, "jobs")

    def _look(self, args: Mapping[str, Json]) -> Json:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def delivered(self, **how: Any) -> list[bytes | None]:
        state, number = how.pop("state", "finished"), how.pop("deliveries", None)
        timeout = how.pop("timeout", 0)
        found = share_assertions.delivered(
            self.call,
            "app",
            self.topic,
            Expected(**how),
            state=state,
            deliveries=number,
            timeout=timeout,
        )
        return [record.value for record in found]

    def dead_letters(self, timeout: float = 0, **how: Any) -> list[Record]:
        expected = Expected(**how)
        return share_assertions.dead_letters(
            self.call, "app", self.topic, expected, timeout=timeout
        )


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ({}, [b"before", b"done", b"bad"]),
        ({"deliveries": 1}, [b"done"]),
        ({"state": "acknowledged"}, [b"done"]),
        ({"state": "archived", "deliveries": 3}, [b"bad"]),
        ({"state": "available"}, [b"again", b"held", b"new"]),
        ({"state": "available", "deliveries": 0, "count": 2}, [b"held", b"new"]),
        ({"value": "again", "state": "available", "deliveries": 2}, [b"again"]),
        ({"value": "before", "state": "available", "count": 0}, []),
    ],
)
def test_records_in_a_state(how: dict[str, Any], values: list[bytes]) -> None:
    assert Group(deliveries(*RANGES)).delivered(**how) == values


def test_before_the_first_acknowledgement_all_are_available() -> None:
    assert Group(deliveries(start=None)).delivered(state="available", count=len(VALUES))
    gone = group(type_="classic", state="Dead", members=0)
    assert Group(gone).delivered(state="available", count=len(VALUES))


def test_they_are_waited_for() -> None:
    held = Group(deliveries([0, 0, "available", 1]), deliveries([0, 0, "acknowledged", 2]))
    assert held.delivered(value="before", deliveries=2, timeout=LIMIT_S) == [b"before"]
    log = Log(b"a")
    late = Group(deliveries(end=1), deliveries(end=2), log=log)
    log.values.append(b"b")
    assert late.delivered(count=2, timeout=LIMIT_S) == [b"a", b"b"]


def test_the_state_that_they_have_is_said() -> None:
    with pytest.raises(NotAsExpected) as told:
        Group(deliveries(*RANGES)).delivered(key="k", count=1, state="archived", deliveries=2)
    lines = str(told.value).splitlines()
    assert lines[0] == (
        "group app: 1 record of jobs with key='k' archived after 2 deliveries expected within "
        "0 s, 0 found: it is Stable with 1 member (c0)"
    )
    assert [line.rpartition("}: ")[2] for line in lines[1:]] == [
        "finished, as all records before it, so its deliveries are not kept",
        "acknowledged, 1 delivery",
        "archived, 3 deliveries",
        "available, 2 deliveries ended; a member may have it locked",
        "archiving, 3 deliveries",
        "available, 0 deliveries ended; a member may have it locked",
        "available, 0 deliveries ended; a member may have it locked",
    ]
    with pytest.raises(NotAsExpected, match="\n  no such record is in jobs$"):
        Group(deliveries()).delivered(value="x")
    with pytest.raises(NotAsExpected, match=r"\n  there is no topic jobs \(there are: jobs\)$"):
        Group(deliveries(), log=Log(exists=False)).delivered()
    with pytest.raises(
        Misuse, match="no record is ever done: the states are finished, available, "
    ):
        Group(deliveries()).delivered(state="done")


class Letters(Log):
    """Dead letters of these groups and offsets."""

    def __init__(self, *origins: tuple[str, int]) -> None:
        super().__init__(*(b"" for _ in origins))
        self.origins = origins

    def consume(self, args: Mapping[str, Json]) -> Json:
        answer = super().consume(args)
        for record in answer["records"]:
            name, offset = self.origins[record["offset"]]
            texts = {"group": name, "topic": "jobs", "partition": "0", "offset": str(offset)}
            record["headers"] = [
                [f"__dlq.errors.{key}", text.encode()] for key, text in texts.items()
            ]
        return answer


def test_records_that_are_dead_letters() -> None:
    letters = Letters(("other", 0), ("app", 2), ("app", 2), ("app", 4))
    app = Group(deliveries(), letters=letters)
    assert [letter.offset for letter in app.dead_letters()] == [1, 3]
    assert [letter.offset for letter in app.dead_letters(value="bad", count=1)] == [1]
    assert app.dead_letters(value="before", count=0) == []
    with pytest.raises(NotAsExpected) as told:
        app.dead_letters(value="before")
    assert str(told.value) == (
        "group app: a record of jobs with value='before' among the dead letters expected within "
        "0 s, 0 found: topic dlq.jobs has 2 dead letters of the group\n"
        "  jobs-0@0 key=b'k' value=b'before' headers={'h': b'1'}"
    )


def test_why_there_are_no_dead_letters_is_said() -> None:
    app = Group(deliveries(), letters=Log(exists=False))
    with pytest.raises(NotAsExpected, match=r"0 found: there is no topic dlq.jobs \(there are"):
        app.dead_letters()
    app.queue = {"topic": "", "problem": "the group has no topic for them"}
    with pytest.raises(NotAsExpected, match="0 found: the group has no topic for them\n"):
        app.dead_letters()
