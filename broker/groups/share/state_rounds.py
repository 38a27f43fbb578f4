"""A round of requests about the states of many share-partitions.

Owns the requests without an answer, at most ASKED_AT_ONCE of a round. Never interprets an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from broker.groups.share.ports import StateReply
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import NO_STATE, StateAnswer
from protocol.errors import ErrorCode

ASKED_AT_ONCE = 1_000
StateAnswers: TypeAlias = dict[SharePartitionKey, tuple[ErrorCode, StateAnswer]]
"""The error and the answer of each share-partition, in the order of the keys."""


def ask_all(
    keys: Sequence[SharePartitionKey],
    ask: Callable[[SharePartitionKey, StateReply], None],
    done: Callable[[StateAnswers], None],
) -> None:
    """Call `ask(key, reply)` for each key, and then `done` with all answers, perhaps at once."""
    _Round(keys, ask, done).go_on()


class _Round:
    """A round, and how far it is."""

    def __init__(
        self,
        keys: Sequence[SharePartitionKey],
        ask: Callable[[SharePartitionKey, StateReply], None],
        done: Callable[[StateAnswers], None],
    ) -> None:
        self._keys = keys
        self._ask = ask
        self._done = done
        self._asked = 0
        self._answered = 0
        self._answers: StateAnswers = dict.fromkeys(keys, (ErrorCode.NONE, NO_STATE))
        self._is_asking = False

    def go_on(self) -> None:
        """Ask for the next keys while there is room, and call `done` after the last answer."""
        # A reply within `ask` must not ask for the next key: the calls would nest without a limit.
        if self._is_asking:
            return
        self._is_asking = True
        while self._asked < len(self._keys) and self._asked - self._answered < ASKED_AT_ONCE:
            key = self._keys[self._asked]
            self._asked += 1
            self._ask(key, self._reply_for(key))
        self._is_asking = False
        if self._answered == len(self._keys):
            self._done(self._answers)

    def _reply_for(self, key: SharePartitionKey) -> StateReply:
        """Return the reply for a key, which goes on with the round."""

        def reply(error: ErrorCode, answer: StateAnswer) -> None:
            """Store the answer and go on."""
            self._answers[key] = (error, answer)
            self._answered += 1
            self.go_on()

        return reply
