"""The measurements of each candidate, round after round, in turns.

A round measures each candidate once, and each round begins with another candidate. It measures in
milliseconds: a start, and on that broker the first record and the first group; a whole test of each
client with a broker of its own; and, with a broker that is emptied between tests, a reset after a
test, and whole tests that begin with a reset after the last one. That broker runs all the time, as
in a session of tests. The round before the first does not count, because it loads what is loaded
once.
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
"""The goals of Ottla's medians."""

Say = Callable[[str], None]


def own_broker(client: str) -> str:
    """Return the measure of a whole test with a broker of its own, with its start and end."""
    return f"test with {client}, own broker"


def shared_broker(client: str) -> str:
    """Return the measure of a whole test with a broker that is emptied before."""
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
"""All measures in the order of the table."""

_NEEDS = {
    RESET: (RESET,),
    SHARED: tuple(map(shared_broker, CLIENTS)),
    FIRST_OF_ALL: (FIRST_START,),
    TOPICS: (FIRST_RECORD_THERE,),
}


class Rounds:
    """A measurement of prepared candidates, whose values go into results."""

    def __init__(self, candidates: Sequence[Candidate], results: Results) -> None:
        self._candidates = list(candidates)
        self._results = results
        self._counts = False
        self._made = 0
        self._shared: dict[str, tuple[Candidate, str]] = {}
        """The candidate whose broker all tests share and its address, by candidate's name."""
        for candidate in self._candidates:
            for what, reason in candidate.lacks.items():
                for measure in _NEEDS[what]:
                    results.lacks(candidate.name, measure, reason)

    def run(self, count: int, say: Say) -> None:
        """Run `count` rounds, and one before; `say` gets a line every ten rounds."""
        try:
            for number in range(count + 1):
                self._counts = number > 0
                for candidate in in_turn(self._candidates, number):
                    self._measure_round(candidate, has_first_start=number <= FIRST_STARTS)
                if number % 10 == 0 or number == count:
                    say(f"round {number} of {count}")
        finally:
            for shared, _ in self._shared.values():
                shared.close()

    def _measure_round(self, candidate: Candidate, has_first_start: bool) -> None:
        """Measure everything once with a candidate, and stop it."""
        address: list[str] = []
        self._measure(candidate, START, lambda: _answering(candidate.start, address))
        if address:
            self._measure_first_uses(candidate, *address)
        candidate.stop()
        for client in CLIENTS:
            self._measure(
                candidate, own_broker(client), partial(self._use_own_broker, candidate, client)
            )
            candidate.stop()  # where it failed
        if SHARED not in candidate.lacks:
            self._measure_shared(candidate)
        if FIRST_OF_ALL not in candidate.lacks and has_first_start:
            self._measure(candidate, FIRST_START, lambda: _answering(candidate.first_of_all, []))
            candidate.end_first_of_all()

    def _measure_first_uses(self, candidate: Candidate, address: str) -> None:
        """Measure the first record and the first group on a broker that has just started."""
        topic, group = self._fresh_name("topic"), self._fresh_name("group")
        self._measure(candidate, FIRST_RECORD, partial(clients.first_record, address, topic))
        self._measure(candidate, FIRST_GROUP, partial(clients.first_group, address, topic, group))
        if TOPICS not in candidate.lacks:
            topic_made_before = candidate.topic(self._fresh_name("topic"))
            self._measure(
                candidate,
                FIRST_RECORD_THERE,
                partial(clients.first_record, address, topic_made_before),
            )

    def _use_own_broker(self, candidate: Candidate, client: str) -> None:
        """Start the candidate, let the client produce and consume, and stop it."""
        address = candidate.start()
        CLIENTS[client](
            address, candidate.topic(self._fresh_name("topic")), self._fresh_name("group")
        )
        candidate.stop()

    def _measure_shared(self, candidate: Candidate) -> None:
        """Measure on the candidate's shared broker, which is started once and keeps running."""
        if candidate.name not in self._shared:
            second = candidate.second()
            self._shared[candidate.name] = second, second.start()
        shared, address = self._shared[candidate.name]
        before = partial(self._left_behind, shared, address)
        self._measure(candidate, RESET, partial(self._reset, shared), before)
        for client in CLIENTS:
            work = partial(self._use_emptied_broker, shared, address, client)
            self._measure(candidate, shared_broker(client), work)

    def _left_behind(self, candidate: Candidate, address: str) -> None:
        candidate.reset()
        clients.leave_behind(address, self._fresh_name("left"))

    @staticmethod
    def _reset(candidate: Candidate) -> None:
        """Reset the candidate. Raises NotInTime unless it removed what was left behind."""
        removed = candidate.reset()
        if removed != LEFT_BEHIND:
            raise NotInTime(f"the reset found {removed}")

    def _use_emptied_broker(self, candidate: Candidate, address: str, client: str) -> None:
        """Reset the candidate, and let the client produce and consume."""
        candidate.reset()
        CLIENTS[client](
            address, candidate.topic(self._fresh_name("topic")), self._fresh_name("group")
        )

    def _measure(
        self,
        candidate: Candidate,
        measure: str,
        work: Callable[[], None],
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """Measure the time of `work`, which begins after `before`, and record a value or a failure.

        A measure that failed twice and never succeeded is not repeated.
        """
        if self._results.is_given_up(candidate.name, measure):
            return
        try:
            before()
            began = time.perf_counter()
            work()
            milliseconds = (time.perf_counter() - began) * 1000
        except Exception as error:  # noqa: BLE001 - errors of clients and brokers
            self._results.fails(candidate.name, measure, one_line(error))
        else:
            if self._counts:
                self._results.add(candidate.name, measure, milliseconds)

    def _fresh_name(self, word: str) -> str:
        self._made += 1
        return f"{word}-{self._made}"


def _answering(start: Callable[[], str], address: list[str]) -> None:
    """Start a broker, wait for its answer to ApiVersions, and append its address."""
    bootstrap = start()
    clients.answers(bootstrap)
    address.append(bootstrap)


def in_turn(candidates: Sequence[Candidate], number: int) -> list[Candidate]:
    """Return all candidates, beginning with the next one in each round."""
    first = number % len(candidates)
    return [*candidates[first:], *candidates[:first]]
