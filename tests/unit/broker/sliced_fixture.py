"""The turns of a loop, one by one, for answers that take several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from broker.requests.sliced_answers import SlicedAnswers
from ground.sliced_work import SlicedWork


class Turns:
    """A loop that does nothing by itself (`ground.ports.Scheduler` and `Blocking`)."""

    def __init__(self) -> None:
        self.soon: deque[Callable[[], None]] = deque()
        self.work = SlicedWork(self, self, 0)  # type: ignore[arg-type]
        self.answers = SlicedAnswers(self.work)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def submit(self, job: Callable[[], Any], done: Callable[..., None]) -> None:
        raise AssertionError("no thread is asked")

    def run(self, after: Callable[[], object] = lambda: None) -> int:
        """All that is to be done, with `after` behind each turn; how many turns it took."""
        turns = 0
        while self.soon:
            self.soon.popleft()()
            after()
            turns += 1
        return turns
