"""What transactions must not do, planted in histories of `tests/chaos/synthetic.py`."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.chaos.history import FAIL, OK, Final, History, Poll, Send, Stable, Transaction


def _committed_polls(history: History, with_records: bool = False) -> list[int]:
    return [
        index
        for index, event in enumerate(history.events)
        if isinstance(event, Poll) and event.committed and (event.records or not with_records)
    ]


def _torn(history: History, rng: random.Random) -> None:
    """A value of a transaction whose end was unclear, and of which another value was seen."""
    sends = [send for send in history.of(Send) if send.transaction >= 0 and send.outcome == OK]
    gone = rng.choice(sends)
    for index, event in enumerate(history.events):
        if isinstance(event, Final) and event.committed and event.key == gone.key:
            kept = [record for record in event.records if record[1] != gone.value]
            history.events[index] = event._replace(records=kept)


def _aborted_read(history: History, rng: random.Random) -> None:
    bad = rng.choice([s for s in history.of(Send) if s.transaction >= 0 and s.outcome == FAIL])
    index = rng.choice(_committed_polls(history))
    poll = history.events[index]
    assert isinstance(poll, Poll)
    history.events.insert(index, poll._replace(key=bad.key, records=[(10**6, bad.value)]))


def _precommitted(history: History, rng: random.Random) -> None:
    number = rng.choice([t for t in history.of(Transaction) if t.outcome == OK]).number
    send = next(s for s in history.of(Send) if s.transaction == number)
    ending = next(t.ending for t in history.of(Transaction) if t.number == number)
    index = rng.choice(_committed_polls(history))
    poll = history.events[index]
    assert isinstance(poll, Poll) and send.offset is not None
    early = poll._replace(key=send.key, records=[(send.offset, send.value)], t1=ending - 0.001)
    history.events.insert(index, early._replace(worker="early", last_stable=-1))


def _stable_back(history: History, rng: random.Random) -> None:
    index = rng.choice(_committed_polls(history))
    poll = history.events[index]
    assert isinstance(poll, Poll)
    ahead = poll._replace(records=[], last_stable=poll.last_stable + 2)
    history.events[index : index + 1] = [ahead, poll]


def _above_stable(history: History, rng: random.Random) -> None:
    index = rng.choice(_committed_polls(history, with_records=True))
    poll = history.events[index]
    assert isinstance(poll, Poll)
    history.events[index] = poll._replace(last_stable=poll.records[-1][0], epoch=-1)


def _hanging(history: History, rng: random.Random) -> None:
    index = rng.choice([i for i, e in enumerate(history.events) if isinstance(e, Stable)])
    stable = history.events[index]
    assert isinstance(stable, Stable)
    history.events[index] = stable._replace(last_stable=rng.randrange(stable.high_watermark))


TRANSACTION_PLANTS: dict[str, Callable[[History, random.Random], None]] = {
    "torn-transaction": _torn,
    "aborted-read": _aborted_read,
    "precommitted-read": _precommitted,
    "last-stable-back": _stable_back,
    "above-last-stable": _above_stable,
    "hanging-transaction": _hanging,
}
"""Kind of anomaly → what plants one."""
