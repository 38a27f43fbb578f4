"""What is measured, and the arithmetic: cells, samples of bytes over time, shares of the quota."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PRODUCE, FETCH = "produce", "fetch"
OPERATIONS = (PRODUCE, FETCH)
CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka", "java")
COUNTS = (1, 20)

VALUE_BYTES = 5_000
RECORD_BYTES = VALUE_BYTES + 40
"""With what is around it, in a batch of three or more. A Fetch that has not room for its last batch
brings a part of it, which counts at the broker and not at the client."""
RECORDS_OF_ALL = 60
"""In a request of each client of a cell, together. With requests of B bytes, N clients of one user
and a window of W seconds, a quota of Q lets x times its rate through where x (x - 1) = N B / (Q W):
each may send one while the others wait. So many clients make small requests, and one large ones,
which keep it from being held up by itself."""
FETCHED_RECORDS_MAX = 12
"""A Fetch that is over its quota has come for nothing: large ones stay below it."""

Sample = tuple[float, int]
"""When, in seconds of any clock, and how many bytes there were by then."""


@dataclass(frozen=True, slots=True)
class Cell:
    """So many clients of one kind that log in as one user and do one thing."""

    client: str
    operation: str
    count: int

    @property
    def user(self) -> str:
        """Its own; no other cell has it."""
        return f"{self.operation}-{self.client}-{self.count}"

    @property
    def request_records(self) -> int:
        """Of `VALUE_BYTES`, in a batch or a fetch of each client."""
        records = RECORDS_OF_ALL // self.count
        return records if self.operation == PRODUCE else min(records, FETCHED_RECORDS_MAX)

    @property
    def request_bytes(self) -> int:
        """Of a batch or a fetch."""
        return self.request_records * RECORD_BYTES

    @property
    def under_way(self) -> int:
        """Records that each producer has unacknowledged."""
        return 2 * self.request_records

    @property
    def quota_key(self) -> str:
        return f"{'producer' if self.operation == PRODUCE else 'consumer'}_byte_rate"


@dataclass(frozen=True, slots=True)
class Rates:
    """As shares of the quota: 1 is the quota itself.

    `from_start`  over so many seconds from the first byte on
    `after`       over so many seconds that begin when the first window of the quota is over
    """

    from_start: float
    after: float


def every_cell(
    clients: Sequence[str] = CLIENTS,
    operations: Sequence[str] = OPERATIONS,
    counts: Sequence[int] = COUNTS,
) -> list[Cell]:
    """The matrix."""
    return [Cell(one, op, count) for one in clients for op in operations for count in counts]


def pairwise() -> list[Cell]:
    """Half of the matrix, in which every two values of different kinds meet."""
    return [
        cell
        for cell in every_cell()
        if (
            CLIENTS.index(cell.client) + OPERATIONS.index(cell.operation) + COUNTS.index(cell.count)
        )
        % 2
        == 0
    ]


def rates(
    samples: Sequence[Sample], quota_bytes_per_s: float, seconds: float, window_s: float
) -> Rates:
    """Of samples in their order. ValueError where nothing came, or they end too early."""
    start = next((when for when, total in samples if total), None)
    if start is None:
        raise ValueError("no byte came through")
    ends = start + window_s + seconds
    if samples[-1][0] < ends:
        raise ValueError(f"samples end {ends - samples[-1][0]:.1f} s too early")
    share = 1 / (quota_bytes_per_s * seconds)
    return Rates(
        bytes_at(samples, start + seconds) * share,
        (bytes_at(samples, ends) - bytes_at(samples, start + window_s)) * share,
    )


def bytes_at(samples: Sequence[Sample], when: float) -> float:
    """Between two samples, on the line from one to the other."""
    before = samples[0]
    for after in samples:
        if after[0] >= when:
            span = after[0] - before[0]
            part = (when - before[0]) / span if span else 1.0
            return before[1] + part * (after[1] - before[1])
        before = after
    return float(before[1])
