"""A world without a cluster: sleeps end in their order, all else is what a test says."""

from __future__ import annotations

from ottla.testing.frames import Json
from ottla.testing.simulation.driver import Operation


class MadeUpWorld:
    """See `driver.World`, `cluster.Clock` and `cluster.Sayings`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.results: dict[str, Json] = {}
        self.errors: dict[str, Exception] = {}
        self.begun: list[Operation] = []
        self.cancelled: list[Operation] = []
        self.hung_up: list[str] = []
        self.lines: list[str] = []
        self._sleeping: list[tuple[float, int, Operation]] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def step(
        self, submit: list[Operation], cancel: list[Operation], hang_up: list[str]
    ) -> list[Operation]:
        self.cancelled += cancel
        self.hung_up += hang_up
        for operation in submit:
            self.begun.append(operation)
            seconds = operation.args["ms"] / 1000 if operation.name == "sleep" else 0.0
            self._sleeping.append((self.now + seconds, len(self.begun), operation))
        self._sleeping = sorted(one for one in self._sleeping if one[2] not in self.cancelled)
        self.now, _, done = self._sleeping.pop(0)
        done.result = self.results.get(done.name)
        done.error = self.errors.get(done.name)
        return [done]
