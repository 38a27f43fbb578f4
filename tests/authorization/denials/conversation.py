"""One case of the table on one broker: what an administrator does first, the rights, the question.

Each case has names of its own, so that none meets what another has left. Owns the order of steps.
Never knows which broker it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, Protocol

from protocol.errors import ErrorCode
from protocol.message import Message
from tests.authorization.denials.comparable_answers import ComparableAnswer
from tests.authorization.denials.rows import BROKER, Case
from tests.authorization.denials.words import TRANSACTION_MS
from tests.authorization.reference import Entry
from tests.differential.learning import learn
from tests.differential.sequence import Learned, Resolver, Step

CLOSED, NOTHING, NONE_DUE = "closed", "nothing", "none is due"
ADMIN = "admin"
TRIES = 500
TOPIC = Step(
    "CREATE_TOPICS",
    7,
    {
        "topics": [{"name": "~t", "num_partitions": 1, "replication_factor": 1}],
        "timeout_ms": 5000,
    },
)
KNOWN = Step("METADATA", 12, {"topics": [{"name": "~t"}], "allow_auto_topic_creation": False})
COMES_LATER = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
# After them the coordinators' topics are there, and serve.
WARM = (
    Step("FIND_COORDINATOR", 2, {"key": "w", "key_type": 0}),
    Step("FIND_COORDINATOR", 2, {"key": "w", "key_type": 1}),
    Step("OFFSET_FETCH", 6, {"group_id": "w", "topics": None}),
    Step(
        "INIT_PRODUCER_ID", 4, {"transactional_id": "w", "transaction_timeout_ms": TRANSACTION_MS}
    ),
)
# What a node says of a topic or a token that it has not heard of yet.
NOT_YET = (
    *COMES_LATER,
    ErrorCode.DELEGATION_TOKEN_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)


class Side(Protocol):
    """One broker."""

    def ask(
        self, listener: str, user: str | None, request: Any, version: int, answered: bool = True
    ) -> Message | str:
        """The answer, or CLOSED, NOTHING, NONE_DUE. `user` None: nobody has logged in."""

    def set_acls(self, entries: Iterable[Entry]) -> None:
        """From now on just these, on both listeners."""

    def wait(self) -> None:
        """A moment."""


class Conversations:
    """All with one broker."""

    def __init__(self, side: Side, first: int = 1, asks: Callable[[], None] = lambda: None) -> None:
        """`first` is the number of the first case; `asks` is called before each question."""
        self._side = side
        self._numbers = count(first)
        self._asks = asks

    def warm(self) -> None:
        """Before the first one."""
        learned: Learned = {}
        self.prepare(WARM, Resolver("", learned), learned)

    def prepare(self, steps: Iterable[Step], resolver: Resolver, learned: Learned) -> None:
        """What an administrator does, until each step is done."""
        for step in steps:
            self._prepare(step, resolver, learned)

    def run(self, case: Case) -> Any:
        """What the case's answer tells."""
        namespace = f"d{next(self._numbers)}-"
        learned: Learned = {}
        resolver = Resolver(namespace, learned)
        self.prepare((TOPIC, KNOWN, *case.row.before), resolver, learned)
        self._side.set_acls(case.entries(resolver))
        self._asks()
        answer = self._ask(case, resolver.message(case.row.step))
        return answer if isinstance(answer, str) else ComparableAnswer(namespace).of(answer)

    def _prepare(self, step: Step, resolver: Resolver, learned: Learned) -> None:
        for _ in range(TRIES):
            request = resolver.message(step)
            answer = self._side.ask(BROKER, ADMIN, request, step.version)
            assert not isinstance(answer, str), (step, answer)
            codes = {code for code in error_codes(answer) if code}
            if not codes:
                learn(learned, step, request, answer)
                return
            assert codes <= set(NOT_YET), (step, codes)
            self._side.wait()
        raise AssertionError(f"{step}: not within {TRIES} tries")

    def _ask(self, case: Case, request: Any) -> Message | str:
        row = case.row
        for _ in range(TRIES):
            answer = self._side.ask(case.listener, case.user, request, row.version, row.answered)
            codes = [] if isinstance(answer, str) else [*error_codes(answer)]
            if not codes or not all(code in COMES_LATER for code in codes):
                return answer
            self._side.wait()
        raise AssertionError(f"{case.name}: not within {TRIES} tries")


def error_codes(message: Message) -> Iterator[int]:
    """All in it."""
    for name in message.__slots__:
        value = getattr(message, name)
        if name.endswith("error_code"):
            yield value
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Message):
                yield from error_codes(item)
