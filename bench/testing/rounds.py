"""What is measured of each candidate, round after round, in turns.

A round takes each candidate once, and begins with another one each time. Of one it measures, in
milliseconds: a start, and on that broker the first record and the first group; a whole test of each
client with a broker of its own; and, of one that is emptied between tests, a reset of what a test
has left behind, and whole tests that begin with a reset of what the last one has. That broker runs
all the time, as in a session of tests. The round before the first one counts for nothing: it loads
what is loaded once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from bench.testing import clients
from bench.testing.candidates import FIRST_OF_ALL, RESET, SHARED, TOPICS, Candidate
from bench.testing.clients import CLIENTS, NotInTime
from bench.testing.results import Results
from bench.turns import one_line

START = "start"
FIRST_START = "first start of a session"
FIRST_RECORD = "first record, topic not there"
FIRST_RECORD_THERE = "first record, topic made before"
FIRST_GROUP = "first group"
FIRST_STARTS = 10
LEFT_BEHIND = {"topics": 3, "groups": 1, "transactional_ids": 1}

GOALS_MS = {START: 100.0, RESET: 5.0}
"""Of Ottla's median."""

Say = Callable[[str], None]


def own_broker(client: str) -> str:
    """The measure of a whole test with a broker of its own: its start and its end are in it."""
    return f"test with {client}, own broker"


def shared_broker(client: str) -> str:
    """The measure of a whole test with a broker that is emptied before."""
    return f"test with {client}, shared broker"


MEASURES = (
    START,
    RESET,
    FIRST_RECORD,
    FIRST_RECORD_THERE,
    FIRST_GROUP,
    *map(own_broker, CLIENTS),
    *map(shared_broker, CLIENTS),
    FIRST_START,
)
"""In the order of the table."""

_NEEDS = {
    RESET: (RESET,),
    SHARED: tuple(map(shared_broker, CLIENTS)),
    FIRST_OF_ALL: (FIRST_START,),
    TOPICS: (FIRST_RECORD_THERE,),
}


class Rounds:
    """Measures candidates that are prepared into results."""

    def __init__(self, candidates: Sequence[Candidate], results: Results) -> None:
        self._candidates = list(candidates)
        self._results = results
        self._counts = False
        self._made = 0
        self._shared: dict[str, tuple[Candidate, str]] = {}
        """By candidate: that whose broker all tests share, and its address."""
        for one in self._candidates:
            for what, reason in one.lacks.items():
                for measure in _NEEDS[what]:
                    results.lacks(one.name, measure, reason)

    def run(self, count: int, say: Say) -> None:
        """So many rounds, and one before; `say` is told a line now and then."""
        try:
            for number in range(count + 1):
                self._counts = number > 0
                for one in in_turn(self._candidates, number):
                    self._round(one, has_first_start=number <= FIRST_STARTS)
                if number % 10 == 0 or number == count:
                    say(f"round {number} of {count}")
        finally:
            for shared, _ in self._shared.values():
                shared.close()

    def _round(self, one: Candidate, has_first_start: bool) -> None:
        address: list[str] = []
        self._measure(one, START, lambda: _answering(one.start, address))
        if address:
            self._on_a_new_one(one, *address)
        one.stop()
        for client in CLIENTS:
            self._measure(one, own_broker(client), partial(self._own, one, client))
            one.stop()  # where it failed
        if SHARED not in one.lacks:
            self._with_shared(one)
        if FIRST_OF_ALL not in one.lacks and has_first_start:
            self._measure(one, FIRST_START, lambda: _answering(one.first_of_all, []))
            one.end_first_of_all()

    def _on_a_new_one(self, one: Candidate, address: str) -> None:
        topic, group = self._fresh("topic"), self._fresh("group")
        self._measure(one, FIRST_RECORD, partial(clients.first_record, address, topic))
        self._measure(one, FIRST_GROUP, partial(clients.first_group, address, topic, group))
        if TOPICS not in one.lacks:
            there = one.topic(self._fresh("topic"))
            self._measure(one, FIRST_RECORD_THERE, partial(clients.first_record, address, there))

    def _own(self, one: Candidate, client: str) -> None:
        address = one.start()
        CLIENTS[client](address, one.topic(self._fresh("topic")), self._fresh("group"))
        one.stop()

    def _with_shared(self, one: Candidate) -> None:
        if one.name not in self._shared:
            second = one.second()
            self._shared[one.name] = second, second.start()
        shared, address = self._shared[one.name]
        before = partial(self._left_behind, shared, address)
        self._measure(one, RESET, partial(self._reset, shared), before)
        for client in CLIENTS:
            work = partial(self._emptied, shared, address, client)
            self._measure(one, shared_broker(client), work)

    def _left_behind(self, one: Candidate, address: str) -> None:
        one.reset()
        clients.leave_behind(address, self._fresh("left"))

    @staticmethod
    def _reset(one: Candidate) -> None:
        gone = one.reset()
        if gone != LEFT_BEHIND:
            raise NotInTime(f"the reset found {gone}")

    def _emptied(self, one: Candidate, address: str, client: str) -> None:
        one.reset()
        CLIENTS[client](address, one.topic(self._fresh("topic")), self._fresh("group"))

    def _measure(
        self,
        one: Candidate,
        measure: str,
        work: Callable[[], None],
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """What fails is noted; twice and never otherwise, and it is not tried any more. `before`
        comes before the clock."""
        if self._results.is_given_up(one.name, measure):
            return
        try:
            before()
            began = time.perf_counter()
            work()
            milliseconds = (time.perf_counter() - began) * 1000
        except Exception as error:  # noqa: BLE001 - a client's own kind, or a broker's
            self._results.fails(one.name, measure, one_line(error))
        else:
            if self._counts:
                self._results.add(one.name, measure, milliseconds)

    def _fresh(self, word: str) -> str:
        self._made += 1
        return f"{word}-{self._made}"


def _answering(start: Callable[[], str], address: list[str]) -> None:
    """Start a broker, and have its answer to ApiVersions; then `address` has where it is."""
    found = start()
    clients.answers(found)
    address.append(found)


def in_turn(candidates: Sequence[Candidate], number: int) -> list[Candidate]:
    """All of them, each time beginning with the next one."""
    first = number % len(candidates)
    return [*candidates[first:], *candidates[:first]]
