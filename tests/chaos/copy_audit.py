"""What a copier wrote beside what it should have written: losses, repeats, order, aborted records.

`feed` gives the records that copiers read; `TargetWatch` reads a target all the while, committed
records only, as any consumer would; `audit` judges what it saw. A value tells where it comes from:
`copy/<partition>/<number>…`.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from confluent_kafka import Producer

from tests.chaos.copier import ABORTED, JOBS
from tests.clients.transactional_clients import open_reader
from tests.clients.transactional_faces import COMMITTED, UNCOMMITTED, Row

ACCOUNTS = 9
SHOWN = 5


def orders(partition: int, begin: int, end: int) -> list[bytes]:
    """Values of a source's partition: number `n` gives `n % 50 + 1` from one account to another."""
    return [
        b"%d/%d/%d/%d/%d" % (partition, n, n % ACCOUNTS, (n + partition + 1) % ACCOUNTS, n % 50 + 1)
        for n in range(begin, end)
    ]


def feed(
    servers: str,
    topic: str,
    partitions: int,
    begin: int,
    end: int,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Values `begin` to `end` of every partition, acknowledged when this returns. `settings` are
    further properties of the producer."""
    failed: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "linger.ms": 5,
            "error_cb": lambda _: None,
            "log_level": 0,
            **(settings or {}),
        }
    )
    for partition in range(partitions):
        for value in orders(partition, begin, end):
            producer.produce(
                topic,
                value,
                partition=partition,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            producer.poll(0)
    assert producer.flush(60) == 0 and not failed, failed[:3]


class TargetWatch:
    """A consumer of a target's committed records, in a thread, from its start."""

    def __init__(
        self,
        client: str,
        servers: str,
        topic: str,
        partitions: int,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.client = client
        self.seen: dict[int, list[bytes]] = defaultdict(list)
        self._open = lambda: open_reader(
            client, servers, topic, partitions, isolation=COMMITTED, settings=settings
        )
        self._count = 0
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            reader = self._open()
            while not self._stopping.is_set():
                for row in reader.poll(0.1):
                    self.seen[row.partition].append(row.value)
                    self._count += 1
            reader.close()
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            self._failure = error

    def count(self) -> int:
        """Records seen so far."""
        if self._failure is not None:
            raise self._failure
        return self._count

    def wait_for(self, count: int, patience_s: float, why: Callable[[], str]) -> None:
        """Until so many records were seen; AssertionError after `patience_s` without a new one."""
        self._wait(lambda: self.count() >= count, f"{count} records", patience_s, why)

    def wait_for_value(
        self, partition: int, value: bytes, patience_s: float, why: Callable[[], str]
    ) -> None:
        """Until this value was seen; as `wait_for`."""
        self._wait(lambda: value in self.seen[partition], f"{value!r}", patience_s, why)

    def _wait(
        self, come: Callable[[], bool], what: str, patience_s: float, why: Callable[[], str]
    ) -> None:
        last, since = self.count(), time.monotonic()
        while not come():
            if (now := self.count()) != last:
                last, since = now, time.monotonic()
            assert time.monotonic() - since < patience_s, (
                f"{self.client}: waiting for {what}, {now} records came, and no more for "
                f"{patience_s} s; {why()}"
            )
            time.sleep(0.02)

    def where(self) -> str:
        """What its thread is doing."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "".join(traceback.format_stack(frame)) if frame is not None else "it has ended"

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(90)


class Audit(NamedTuple):
    """What is wrong with a target. All zero: exactly once, in order."""

    missing: int
    repeated: int
    disordered: int
    aborted: int
    """Records of aborted transactions that a reader of committed records saw."""
    foreign: int
    """Records that nobody should have written."""
    examples: list[str]

    @property
    def clean(self) -> bool:
        return not any(self[:5])


def audit(
    seen: Mapping[int, Iterable[bytes]], job: str, source_partitions: int, per_partition: int
) -> Audit:
    """Compare what was seen of a target, by partition, with what its source makes."""
    expected: dict[int, Counter[bytes]] = defaultdict(Counter)
    for partition in range(source_partitions):
        for value in orders(partition, 0, per_partition):
            for place, output in JOBS[job](Row(partition, 0, value), source_partitions):
                expected[place][output] += 1
    missing = repeated = disordered = aborted = foreign = 0
    examples: list[str] = []
    for place in sorted({*expected, *seen}):
        values = list(seen.get(place, ()))
        good = [value for value in values if value in expected[place]]
        aborted += sum(value.startswith(ABORTED) for value in values)
        foreign += sum(v not in expected[place] and not v.startswith(ABORTED) for v in values)
        found = Counter(good)
        lost = [value for value in expected[place] if value not in found]
        again = [value for value, times in found.items() if times > expected[place][value]]
        missing += len(lost)
        repeated += sum(found[value] - expected[place][value] for value in again)
        back = list(_backwards(good))
        disordered += len(back)
        for what, which in (("missing", lost), ("repeated", again), ("out of order", back)):
            examples += [f"{what} in partition {place}: {value!r}" for value in which[:SHOWN]]
    return Audit(missing, repeated, disordered, aborted, foreign, examples[: 3 * SHOWN])


def _backwards(values: Iterable[bytes]) -> Iterable[bytes]:
    """First appearances that stand behind a later number of the same source partition."""
    last: dict[bytes, int] = {}
    met: set[bytes] = set()
    for value in values:
        if value in met:
            continue
        met.add(value)
        source, number = value.split(b"/")[1:3]
        if int(number) < last.get(source, -1):
            yield value
        last[source] = max(last.get(source, -1), int(number))


def balance(seen: Mapping[int, Iterable[bytes]]) -> int:
    """What all accounts hold together, after transfers: nothing, or money was made or lost."""
    return sum(int(value.rpartition(b"/")[2]) for values in seen.values() for value in values)


def count_all(servers: str, topic: str, partitions: int) -> int:
    """How many records a reader of everything finds, until no more come for a second."""
    reader = open_reader("confluent-kafka", servers, topic, partitions, isolation=UNCOMMITTED)
    count = quiet = 0
    while quiet < 2:
        rows = reader.poll(0.5)
        quiet = 0 if rows else quiet + 1
        count += len(rows)
    reader.close()
    return count


def count_aborted(servers: str, topic: str, partitions: int, committed: int) -> int:
    """How many records of aborted transactions lie in a target, for readers of everything.

    Read on until as many records of committed transactions came as there are, and then no more.
    """
    reader = open_reader("confluent-kafka", servers, topic, partitions, isolation=UNCOMMITTED)
    aborted = others = 0
    deadline = time.monotonic() + 120
    quiet = 0
    while (others < committed or quiet < 2) and time.monotonic() < deadline:
        rows = reader.poll(0.5)
        quiet = 0 if rows else quiet + 1
        aborted += sum(row.value.startswith(ABORTED) for row in rows)
        others += sum(not row.value.startswith(ABORTED) for row in rows)
    reader.close()
    return aborted
