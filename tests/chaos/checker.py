"""Judges a history: which promises of a cluster were broken, with examples.

Each check is one or two linear passes. The kinds of anomaly are those of Jepsen's Kafka workload
where it has them (`lost-write`, `duplicate`, `inconsistent-offset`, `phantom`, `poll-skip`,
`nonmonotonic-poll`, `nonmonotonic-send`), and our own for the rest; those of transactions are in
`tests/chaos/transaction_checks.py`. What is indeterminate proves nothing: a value whose send had no
clear answer may be there or not, but once, and in its order.

Its own test plants every kind in clean histories (`tests/chaos/test_checker.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from tests.chaos.facts import Anomaly, Facts
from tests.chaos.history import (
    FAIL,
    OK,
    Assigned,
    Claim,
    Commit,
    Committed,
    History,
    Key,
    Send,
    Surprise,
    Unanswered,
)
from tests.chaos.transaction_checks import TRANSACTION_CHECKS

PROGRESS_S = 20.0
"""So long may nothing be acknowledged or read while a quorum can be reached."""
RECOVERY_S = 15.0
"""So long after a fault that took the quorum away counts as part of it."""
EXAMPLES = 8


def inconsistent_offsets(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I2: an offset of a key has one value, whoever reads it."""
    at: dict[tuple[Key, int], tuple[int, str]] = {}
    for key, offset, value, source, _ in facts.placed:
        first, who = at.setdefault((key, offset), (value, source))
        if first != value:
            yield Anomaly(
                "inconsistent-offset", f"{key} @{offset}: {first} ({who}), {value} ({source})"
            )


def duplicates(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I3: a value is at one offset."""
    where: dict[int, tuple[Key, int]] = {}
    told: set[tuple[int, Key, int]] = set()
    for key, offset, value, source, _ in facts.placed:
        first = where.setdefault(value, (key, offset))
        if first != (key, offset) and (value, key, offset) not in told:
            told.add((value, key, offset))
            yield Anomaly("duplicate", f"{value} is at {first} and at {(key, offset)} ({source})")


def lost_writes(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I1: what was acknowledged, or read by anybody, is there at the end."""
    read = {
        (final.key, final.committed): {value for _, value in final.records}
        for final in facts.finals
    }
    for send in facts.sends:
        if send.outcome != OK:
            continue
        for committed in (False, True):
            values = read.get((send.key, committed))
            if values is not None and send.value not in values:
                yield Anomaly("lost-write", f"{send} was acknowledged and is not in the final read")
                break
    gone: set[int] = set()
    for poll in facts.polls:
        values = read.get((poll.key, poll.committed))
        for offset, value in poll.records:
            if values is not None and value not in values and value not in gone:
                gone.add(value)
                yield Anomaly(
                    "lost-write", f"{value} was read at {poll.key} @{offset} and is gone at the end"
                )


def phantoms(facts: Facts, history: History) -> Iterator[Anomaly]:
    """G1a: nobody reads what nobody sent, or what was refused."""
    told: set[int] = set()
    for key, offset, value, source, _ in facts.placed:
        if facts.in_transaction(value):
            continue  # tests/chaos/transaction_checks.py
        send = facts.writer.get(value)
        if (send is None or send.outcome == FAIL) and value not in told:
            told.add(value)
            why = "nobody sent it" if send is None else f"it was refused: {send.error}"
            yield Anomaly("phantom", f"{value} at {key} @{offset} ({source}): {why}")


def poll_order(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I5: within a session a consumer gets every record of a key once, in order."""
    known: dict[tuple[Key, bool], set[int]] = defaultdict(set)
    for key, offset, value, _, committed in facts.placed:
        known[key, False].add(offset)
        if committed or not facts.in_transaction(value):
            known[key, True].add(offset)
    order = {place: sorted(offsets) for place, offsets in known.items()}
    last: dict[tuple[str, int, Key], int] = {}
    for poll in facts.polls:
        place = (poll.worker, poll.session, poll.key)
        for offset, _ in poll.records:
            before = last.get(place)
            if before is not None and offset <= before:
                yield Anomaly("nonmonotonic-poll", f"{place}: {offset} after {before}")
            elif before is not None:
                offsets = order[poll.key, poll.committed]
                if offsets[bisect_right(offsets, before)] < offset:
                    yield Anomaly("poll-skip", f"{place}: {offset} after {before}")
            last[place] = offset


def send_order(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I4: a producer's values of a key stand in the order in which it sent them."""
    where: dict[int, int] = {}
    for _, offset, value, _, _ in facts.placed:
        where.setdefault(value, offset)
    chains: dict[tuple[int, Key], list[Send]] = defaultdict(list)
    for send in facts.sends:
        if send.value in where:
            chains[send.producer, send.key].append(send)
    for (producer, key), chain in chains.items():
        chain.sort(key=lambda send: send.sequence)
        for earlier, later in zip(chain, chain[1:], strict=False):
            if where[later.value] < where[earlier.value]:
                yield Anomaly(
                    "nonmonotonic-send",
                    f"producer {producer}, {key}: sequence {later.sequence} is at "
                    f"{where[later.value]}, {earlier.sequence} at {where[earlier.value]}",
                )


def watermarks(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I5, I6: they never go back for an observer within an epoch, and no record is above one."""
    seen: dict[tuple[str, int, Key, int], tuple[int, int]] = {}
    for poll in facts.polls:
        if poll.high_watermark >= 0 and poll.records:
            offset = poll.records[-1][0]
            if offset >= poll.high_watermark:
                yield Anomaly(
                    "above-high-watermark",
                    f"{poll.worker}: {poll.key} @{offset}, high watermark {poll.high_watermark}",
                )
        if poll.epoch < 0 or poll.high_watermark < 0:
            continue
        place = (poll.worker, poll.node, poll.key, poll.epoch)
        high, start = seen.get(place, (-1, -1))
        if poll.high_watermark < high:
            yield Anomaly("high-watermark-back", f"{place}: {poll.high_watermark} after {high}")
        if poll.log_start < start:
            yield Anomaly("log-start-back", f"{place}: {poll.log_start} after {start}")
        seen[place] = (poll.high_watermark, poll.log_start)


def owners(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I16: a key has at most one owner in a generation."""
    owner: dict[tuple[str, int, Key], str] = {}
    for event in history.of(Assigned):
        for key in event.keys:
            first = owner.setdefault((event.group, event.generation, key), event.member)
            if first != event.member:
                yield Anomaly(
                    "two-owners",
                    f"{event.group} generation {event.generation}: {key} belongs to {first} "
                    f"and {event.member}",
                )


def committed_offsets(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I17: what was committed is what is found, or later; by no older generation.

    Members only move forward, so the highest offset that was acknowledged before is the least.
    """
    commits: dict[tuple[str, Key], list[Commit]] = defaultdict(list)
    for commit in history.of(Commit):
        if commit.outcome == OK:
            commits[commit.group, commit.key].append(commit)
    least: dict[tuple[str, Key], tuple[list[float], list[int]]] = {}
    for place, events in commits.items():
        events.sort(key=lambda commit: commit.t1)
        times: list[float] = []
        highest: list[int] = []
        top = newest = -1
        for commit in events:
            if commit.generation < newest and commit.t0 > times[-1]:
                later = f"{commit} was taken after one of generation {newest}"
                yield Anomaly("stale-commit", later)
            newest = max(newest, commit.generation)
            top = max(top, commit.offset)
            times.append(commit.t1)
            highest.append(top)
        least[place] = (times, highest)
    for found in history.of(Committed):
        times, highest = least.get((found.group, found.key), ([], []))
        index = bisect_right(times, found.t0) - 1
        if index >= 0 and found.offset < highest[index]:
            yield Anomaly("lost-commit", f"{found}, {highest[index]} was committed before")


def leaders(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I12: one leader in an epoch, of each key and of the quorum."""
    leader: dict[tuple[str, int], tuple[int, str]] = {}
    for claim in history.of(Claim):
        if claim.leader < 0:
            continue
        first, source = leader.setdefault((claim.what, claim.epoch), (claim.leader, claim.source))
        if first != claim.leader:
            yield Anomaly(
                "two-leaders",
                f"{claim.what} epoch {claim.epoch}: {first} ({source}), "
                f"{claim.leader} ({claim.source})",
            )


def surprises(facts: Facts, history: History) -> Iterator[Anomaly]:
    """Answers that a correct client never gets from a correct cluster."""
    for surprise in history.of(Surprise):
        yield Anomaly("surprise", f"{surprise}")


def unanswered(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I20: a request gets an answer, or its connection closes, unless a fault held its node."""
    for event in history.of(Unanswered):
        excuses = [
            fault
            for fault in facts.faults
            if event.node in fault.nodes and fault.t0 <= event.t1 and fault.t1 >= event.t0
        ]
        if not excuses:
            yield Anomaly("unanswered", f"{event}")


def progress(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I20: something is acknowledged, and something read, wherever a quorum can be reached."""
    away = [(f.t0, f.t1 + RECOVERY_S) for f in facts.faults if not f.majority]
    ends = [send.t1 for send in facts.sends] + [poll.t1 for poll in facts.polls]
    end = max(ends, default=0.0)
    kinds = {
        "send": sorted([0.0, *(send.t1 for send in facts.sends if send.outcome == OK), end]),
        "poll": sorted([0.0, *(poll.t1 for poll in facts.polls), end]),
    }
    for kind, times in kinds.items():
        for before, after in zip(times, times[1:], strict=False):
            for start, stop in _without(before, after, away):
                if stop - start > PROGRESS_S:
                    yield Anomaly(
                        "no-progress", f"no {kind} was answered from {start:.1f} to {stop:.1f} s"
                    )


def _without(
    begin: float, end: float, away: list[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """What is left of a stretch of time without others."""
    for start, stop in sorted(away):
        if stop <= begin or start >= end:
            continue
        if start > begin:
            yield begin, start
        begin = max(begin, stop)
    if begin < end:
        yield begin, end


CHECKS: tuple[Callable[[Facts, History], Iterator[Anomaly]], ...] = (
    inconsistent_offsets,
    duplicates,
    lost_writes,
    phantoms,
    poll_order,
    send_order,
    watermarks,
    owners,
    committed_offsets,
    leaders,
    surprises,
    unanswered,
    progress,
    *TRANSACTION_CHECKS,
)


def check(history: History) -> list[Anomaly]:
    """All that is wrong with a history."""
    facts = Facts(history)
    return [anomaly for one in CHECKS for anomaly in one(facts, history)]


def summary(anomalies: list[Anomaly]) -> dict[str, object]:
    """Counts by kind, with the first examples."""
    counts = Counter(anomaly.kind for anomaly in anomalies)
    return {
        kind: {
            "count": count,
            "examples": [a.text for a in anomalies if a.kind == kind][:EXAMPLES],
        }
        for kind, count in sorted(counts.items())
    }
