"""What transactions promise: all or nothing, nothing of an aborted one, none that stays open.

`torn-transaction` (I8), `aborted-read` (I9, Jepsen's G1a), `precommitted-read`, `last-stable-back`
and `above-last-stable` (I5, I6), `hanging-transaction` (I10). A transaction that nobody knows the
end of is held to be committed as soon as a reader of committed records has seen a part of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from tests.chaos.facts import Anomaly, Facts
from tests.chaos.history import FAIL, OK, History, Key, Send, Stable


def torn_transactions(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I8: who reads committed records sees all of a transaction in the end, or nothing."""
    final = {f.key: {value for _, value in f.records} for f in facts.finals if f.committed}
    seen = {placed.value for placed in facts.placed if placed.committed}
    sent: dict[int, list[Send]] = defaultdict(list)
    for send in facts.sends:
        if send.transaction >= 0 and send.key in final:
            sent[send.transaction].append(send)
    for number, sends in sent.items():
        outcome = facts.transactions[number].outcome
        if outcome != OK and not any(send.value in seen for send in sends):
            continue
        lacking = [(send.key, send.value) for send in sends if send.value not in final[send.key]]
        if lacking:
            yield Anomaly("torn-transaction", f"{facts.transactions[number]} lacks {lacking}")


def aborted_reads(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I9: no reader of committed records sees a record of an aborted transaction."""
    told: set[int] = set()
    for key, offset, value, source, committed in facts.placed:
        if not committed or value in told or not facts.in_transaction(value):
            continue
        send = facts.writer[value]
        if send.outcome == FAIL:
            told.add(value)
            yield Anomaly("aborted-read", f"{value} at {key} @{offset} ({source}): {send}")


def precommitted_reads(facts: Facts, history: History) -> Iterator[Anomaly]:
    """Nobody reads a committed record before its producer has asked to commit it."""
    for poll in facts.polls:
        for offset, value in poll.records if poll.committed else ():
            if not facts.in_transaction(value):
                continue
            number = facts.writer[value].transaction
            ending = facts.transactions[number].ending
            if ending < 0 or poll.t1 < ending:
                yield Anomaly(
                    "precommitted-read",
                    f"{value} at {poll.key} @{offset} was read by {poll.worker} at {poll.t1:.3f}, "
                    f"before the end of {facts.transactions[number]}",
                )


def last_stable_offsets(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I5, I6: it never goes back for an observer within an epoch, and no record is above it."""
    seen: dict[tuple[str, int, Key, int], int] = {}
    for poll in facts.polls:
        if poll.last_stable < 0:
            continue
        if poll.committed and poll.records and poll.records[-1][0] >= poll.last_stable:
            yield Anomaly(
                "above-last-stable",
                f"{poll.worker}: {poll.key} @{poll.records[-1][0]}, stable {poll.last_stable}",
            )
        if poll.epoch < 0:
            continue
        place = (poll.worker, poll.node, poll.key, poll.epoch)
        before = seen.get(place, -1)
        if poll.last_stable < before:
            yield Anomaly("last-stable-back", f"{place}: {poll.last_stable} after {before}")
        seen[place] = poll.last_stable


def hanging_transactions(facts: Facts, history: History) -> Iterator[Anomaly]:
    """I10: once every transaction has ended or timed out, nothing holds readers back."""
    for stable in history.of(Stable):
        if stable.last_stable < stable.high_watermark:
            yield Anomaly("hanging-transaction", f"{stable}")


TRANSACTION_CHECKS: tuple[Callable[[Facts, History], Iterator[Anomaly]], ...] = (
    torn_transactions,
    aborted_reads,
    precommitted_reads,
    last_stable_offsets,
    hanging_transactions,
)
