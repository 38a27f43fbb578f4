"""A peer without a process: what it costs is what a test says."""

from __future__ import annotations

from bench.peers import BenchPeer


class CountedPeer(BenchPeer):
    """Each request costs `cost_s` seconds of CPU."""

    def __init__(self, cost_s: float) -> None:
        super().__init__("counted")
        self.cost_s = cost_s
        self._spent_s = 0.0

    def serve(self, requests: int) -> int:
        """So many requests, answered."""
        self._spent_s += requests * self.cost_s
        return requests

    def cpu_seconds(self) -> float:
        return self._spent_s
