"""What the events of share group members prove: lost records, second deliveries, dead letters.

An event is a line of a member's log (`share_worker`):

    ["d", partition, offset, delivery count, asked, received, value]      a delivery
    ["a", request, partition, [[offset, acknowledgement], …], sent]       before it is sent
    ["r", request, partition, result, received, error]                    its result

Times are seconds of the machine's one monotonic clock. An acknowledgement without a result is
UNKNOWN: its answer was lost, or its member died. So is one whose lock may have ended before: a
broker confirms whatever is said about a record before the group's start offset, by whomever. Pure:
never asks a broker.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ACCEPT, RELEASE, REJECT = "accept", "release", "reject"
OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"

Place = tuple[int, int]
"""Partition and offset."""


class Delivery(NamedTuple):
    """A record in a ShareFetch's answer."""

    member: str
    count: int
    asked: float
    received: float
    value: str


class Verdict(NamedTuple):
    """An acknowledgement of a record."""

    member: str
    kind: str
    result: str
    sent: float
    known: float
    """When its result came."""


@dataclass
class History:
    """All events of a run, by record."""

    deliveries: dict[Place, list[Delivery]] = field(default_factory=lambda: defaultdict(list))
    verdicts: dict[Place, list[Verdict]] = field(default_factory=lambda: defaultdict(list))

    def add(self, member: str, lines: Iterable[str]) -> None:
        """Add the log of one member."""
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        results = {(one[1], one[2]): one for one in events if one[0] == "r"}
        for event in events:
            if event[0] == "d":
                _, partition, offset, *rest = event
                self.deliveries[partition, offset].append(Delivery(member, *rest))
            elif event[0] == "a":
                _, request, partition, pairs, sent = event
                found = results.get((request, partition), ("r", 0, 0, UNKNOWN, sent))
                for offset, kind in pairs:
                    verdict = Verdict(member, kind, found[3], sent, found[4])
                    self.verdicts[partition, offset].append(verdict)

    def forget_late_results(self, lock_s: float) -> None:
        """Make UNKNOWN of each OK that may have come after the end of the member's lock, or after
        another acknowledgement of the same delivery."""
        for place, verdicts in self.verdicts.items():
            for index, one in enumerate(verdicts):
                delivery = last_delivery(self.deliveries.get(place, []), one)
                if one.result != OK or delivery is None:
                    continue
                repeats = any(
                    other.member == one.member and delivery.received <= other.sent < one.sent
                    for other in verdicts
                )
                if repeats or one.known - delivery.asked >= lock_s:
                    verdicts[index] = one._replace(result=UNKNOWN)


def last_delivery(deliveries: Iterable[Delivery], verdict: Verdict) -> Delivery | None:
    """Return the delivery that a verdict is about: the last before it to the same member."""
    own = (
        one for one in deliveries if one.member == verdict.member and one.received <= verdict.sent
    )
    return max(own, key=lambda one: one.received, default=None)


@dataclass
class Audit:
    """The counts of a run; each list of `wrong` has the records of which a promise was broken."""

    counts: dict[str, int] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def clean(self) -> bool:
        """Whether no promise was broken."""
        return not any(self.wrong.values())

    def as_dict(self) -> dict[str, Any]:
        """The counts, and of each kind of wrong its number and three examples."""
        wrong = {kind: {"count": len(all_), "first": all_[:3]} for kind, all_ in self.wrong.items()}
        return {**self.counts, "wrong": wrong, "clean": self.clean}


class Settings(NamedTuple):
    """The configs of the group."""

    limit: int
    """The delivery count limit."""
    lock_s: float
    """How long a record is locked for its member."""


def audit(
    history: History, written: Mapping[Place, str], letters: Counter[Place], settings: Settings
) -> Audit:
    """Judge a run after which the group has finished every record.

    `written` has the acknowledged values, `letters` counts the dead letters of each record.
    """
    found, limit = Audit(), settings.limit
    counts = _counts(history, written, letters)
    history.forget_late_results(settings.lock_s)
    for place, value in written.items():
        _judge_value(found, place, value, history.deliveries.get(place, []))
        verdicts = history.verdicts.get(place, [])
        accepts = [one for one in verdicts if one.kind == ACCEPT and one.result != REFUSED]
        if not accepts and not letters[place]:
            found.wrong["lost"].append(_told(place, history))
    for place in sorted(history.deliveries.keys() | history.verdicts.keys()):
        deliveries = history.deliveries.get(place, [])
        verdicts = [one for one in history.verdicts.get(place, []) if one.result == OK]
        _judge_order(found, place, history, deliveries, verdicts)
        if any(one.count > limit or one.count < 1 for one in deliveries):
            found.wrong["delivery count"].append(_told(place, history))
        kinds = {one.kind for one in verdicts}
        if REJECT in kinds and not letters[place]:
            found.wrong["rejected without a letter"].append(_told(place, history))
        if ACCEPT in kinds and letters[place]:
            found.wrong["letter of an accepted record"].append(_told(place, history))
    sure = sum(one.result == OK for all_ in history.verdicts.values() for one in all_)
    found.counts = {**counts, "surely confirmed": sure}
    return found


def _judge_value(found: Audit, place: Place, value: str, deliveries: list[Delivery]) -> None:
    if any(one.value != value for one in deliveries):
        found.wrong["another value"].append(f"{place}: {value}, {deliveries}")


def _judge_order(
    found: Audit,
    place: Place,
    history: History,
    deliveries: list[Delivery],
    verdicts: list[Verdict],
) -> None:
    """Note a record that was delivered to a fetch sent after it was finished, and a confirmed
    verdict of a member that did not hold the record alone since its delivery."""
    for verdict in verdicts:
        later = [one for one in deliveries if one.asked > verdict.known]
        if verdict.kind != RELEASE and later:
            found.wrong[f"delivered after {verdict.kind}"].append(_told(place, history))
        own = last_delivery(deliveries, verdict)
        if own is None:
            found.wrong["acknowledged without a delivery"].append(_told(place, history))
        elif any(
            one.member != verdict.member
            and one.asked > own.received
            and one.received < verdict.sent
            for one in deliveries
        ):
            found.wrong["held by two"].append(_told(place, history))


def _told(place: Place, history: History) -> str:
    events: list[Any] = [*history.deliveries.get(place, []), *history.verdicts.get(place, [])]
    return f"{place}: " + "; ".join(map(str, sorted(events, key=lambda one: one[-2])))


def _counts(
    history: History, written: Mapping[Place, str], letters: Counter[Place]
) -> dict[str, int]:
    verdicts = [one for all_ in history.verdicts.values() for one in all_]
    counts = Counter(f"{one.kind} {one.result}" for one in verdicts)
    deliveries = sum(map(len, history.deliveries.values()))
    return {
        "written": len(written),
        "deliveries": deliveries,
        "delivered again": deliveries - len(history.deliveries),
        "highest delivery count": max(
            (one.count for all_ in history.deliveries.values() for one in all_), default=0
        ),
        **dict(sorted(counts.items())),
        "records with a letter": len(letters),
        "records with two letters or more": sum(count > 1 for count in letters.values()),
    }
