"""What the checks of a history look up: who sent a value, where it stands, who was told what."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from tests.chaos.history import OK, Fault, Final, History, Key, Poll, Send, Transaction


class Anomaly(NamedTuple):
    """A promise that was broken."""

    kind: str
    text: str


class Placed(NamedTuple):
    """Somebody says that a value is at an offset."""

    key: Key
    offset: int
    value: int
    source: str
    committed: bool
    """Told to a reader of committed records alone."""


class Facts:
    """A history, by what is asked of it."""

    def __init__(self, history: History) -> None:
        self.sends = list(history.of(Send))
        self.polls = list(history.of(Poll))
        self.finals = list(history.of(Final))
        self.faults = list(history.of(Fault))
        self.writer = {send.value: send for send in self.sends}
        self.transactions = {one.number: one for one in history.of(Transaction)}

    @cached_property
    def placed(self) -> list[Placed]:
        """From every answer and every read."""
        return list(self._placed())

    def _placed(self) -> Iterator[Placed]:
        for send in self.sends:
            if send.outcome == OK and send.offset is not None:
                source = f"answer to {send.worker}"
                yield Placed(send.key, send.offset, send.value, source, False)
        for poll in self.polls:
            source = f"poll of {poll.worker} from node {poll.node}"
            for offset, value in poll.records:
                yield Placed(poll.key, offset, value, source, poll.committed)
        for final in self.finals:
            for offset, value in final.records:
                yield Placed(final.key, offset, value, "final read", final.committed)

    def in_transaction(self, value: int) -> bool:
        """Whether a transactional producer sent it."""
        send = self.writer.get(value)
        return send is not None and send.transaction >= 0
