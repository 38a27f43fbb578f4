"""Consumer groups whose members and topics change, and who got what from Apache Kafka.

`assignments_kafka.txt` has 47 such groups, each with both assignors of Kafka: events, and
after each of them every member's target assignment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Owned: TypeAlias = dict[str, dict[str, tuple[int, ...]]]
"""Partitions by member and topic."""


@dataclass
class Step:
    """What changed, and what Kafka then wanted each member to have, by assignor."""

    event: str
    subscriptions: dict[str, list[str]]
    instance_ids: dict[str, str]
    racks: dict[str, str]
    topics: dict[str, int]
    answers: dict[str, Owned] = field(default_factory=dict)


def read_cases() -> dict[str, list[Step]]:
    """All groups by name."""
    cases: dict[str, list[Step]] = {}
    pool: dict[str, int] = {}
    now = _Group({})
    for line in _lines():
        word, _, rest = line.strip().partition(" ")
        if word == "pool":
            pool = {name: int(count) for name, count in (one.split("=") for one in rest.split())}
        elif word == "case":
            now = _Group(dict(pool))
            cases[rest] = now.steps
        elif word in ("uniform", "range"):
            now.steps[-1].answers[word] = _owned(rest)
        else:
            now.change(word, rest.split())
    return cases


def _lines() -> Iterator[str]:
    path = Path(__file__).with_name("assignments_kafka.txt")
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            yield line


class _Group:
    def __init__(self, topics: dict[str, int]) -> None:
        self.steps: list[Step] = []
        self._topics = topics
        self._subscriptions: dict[str, list[str]] = {}
        self._instances: dict[str, str] = {}
        self._racks: dict[str, str] = {}

    def change(self, event: str, words: list[str]) -> None:
        name = words[0]
        if event == "leave":
            del self._subscriptions[name]
        elif event == "delete":
            del self._topics[name]
        elif event == "topic":
            self._topics[name] = int(words[1])
            if not self._subscriptions:
                return
        else:
            self._subscriptions[name] = [one for one in words[1:] if "=" not in one]
            for one in words[1:]:
                if one.startswith("instance="):
                    self._instances[name] = one.removeprefix("instance=")
                elif one.startswith("rack="):
                    self._racks[name] = one.removeprefix("rack=")
        self.steps.append(
            Step(
                f"{event} {' '.join(words)}",
                dict(self._subscriptions),
                dict(self._instances),
                dict(self._racks),
                dict(self._topics),
            )
        )


def _owned(text: str) -> Owned:
    owned: Owned = {}
    for part in text.split("|"):
        member, *topics = part.split()
        owned[member] = {
            name: tuple(
                number
                for run in numbers.split(",")
                for number in range(int(run.split("-")[0]), int(run.split("-")[-1]) + 1)
            )
            for name, numbers in (one.split(":") for one in topics)
        }
    return owned
