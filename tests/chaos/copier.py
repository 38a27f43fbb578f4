"""Consume, transform, produce in a process of its own, which may die at any moment.

`python -m tests.chaos.copier '{"client": …, "servers": …, "source": …, "target": …, …}'` reads a
topic as the only member of a group and writes what a job makes of each record to another topic,
until it is killed. Each semantics is an order of the same steps (`SEMANTICS`). With `die_after` it
kills itself at the one point where its semantics can be told from the others: between two of them.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.clients.transactional_clients import open_producer, open_reader
from tests.clients.transactional_faces import Failed, Fenced, Row, TransactionalProducer

AT_MOST_ONCE = "at-most-once"
AT_LEAST_ONCE = "at-least-once"
EXACTLY_ONCE = "exactly-once"
SEMANTICS = {
    AT_MOST_ONCE: "commit the offsets, produce",
    AT_LEAST_ONCE: "produce, commit the offsets",
    EXACTLY_ONCE: "produce and commit the offsets in one transaction",
}
ABORTED = b"aborted/"
"""What the records of a transaction begin with that is aborted on purpose."""
FENCED_EXIT = 3
STUCK_S = 30.0
SESSION_MS = 3_000
"""Of a copier that is killed: its partitions are another's when that is over."""
TOLD_S = 1.0
"""For a process to write where its threads are, on a busy machine."""

Output = tuple[int, bytes]
"""Partition of the target, and value."""


def copy(row: Row, partitions: int) -> list[Output]:
    """The same value to the same partition."""
    return [(row.partition, b"copy/" + row.value)]


def transfer(row: Row, partitions: int) -> list[Output]:
    """An order `…/from/to/amount`: what it takes from one account, what it gives to another."""
    *_, giver, taker, amount = row.value.split(b"/")
    return [
        (int(giver) % partitions, b"takes/%b/%b/-%b" % (row.value, giver, amount)),
        (int(taker) % partitions, b"gives/%b/%b/%b" % (row.value, taker, amount)),
    ]


JOBS: dict[str, Callable[[Row, int], list[Output]]] = {"copy": copy, "transfer": transfer}


@dataclass(frozen=True)
class CopierOptions:
    """What one copier is to do."""

    client: str
    servers: str
    source: str
    target: str
    partitions: int
    group: str
    semantics: str = EXACTLY_ONCE
    job: str = "copy"
    batch: int = 100
    """Records of one transaction, or of one commit."""
    abort_every: int = 7
    """Every so many transactions one is aborted and done again; 0 for never."""
    die_after: int = 0
    """Kill itself within the batch that makes it this many records; 0 for never."""
    timeout_ms: int = 10_000
    settings: dict[str, str] = field(default_factory=dict)
    """Further properties of confluent-kafka."""


class Copier:
    """One life of a copier."""

    def __init__(self, options: CopierOptions) -> None:
        self._options = options
        self._job = JOBS[options.job]
        self._reader = open_reader(
            options.client,
            options.servers,
            options.source,
            group=options.group,
            session_ms=SESSION_MS,
            settings=options.settings,
        )
        self._done = self._batches = 0
        self._producer: TransactionalProducer | None = None
        self._steps: dict[str, Callable[[Sequence[Row], dict[int, int]], None]] = {
            AT_MOST_ONCE: self._commit_then_produce,
            AT_LEAST_ONCE: self._produce_then_commit,
            EXACTLY_ONCE: self._in_one_transaction,
        }

    def run(self) -> int:
        """Until it is killed, or another one has its transactional id.

        A call that does not come back ends it: kafka-python's may wait for ever.
        """
        while True:
            faulthandler.dump_traceback_later(STUCK_S, exit=True)
            try:
                if self._producer is None:
                    self._producer = self._open()
                    self._reader.rewind()
                rows = self._reader.poll(0.2)
                size = self._options.batch
                for start in range(0, len(rows), size):
                    self._pass_on(rows[start : start + size])
            except Fenced as error:
                print(f"fenced: {error}", file=sys.stderr, flush=True)
                return FENCED_EXIT
            except Failed as error:
                print(f"failed: {error}", file=sys.stderr, flush=True)
                self._recover()

    def _open(self) -> TransactionalProducer:
        options = self._options
        if options.semantics == EXACTLY_ONCE:
            return open_producer(
                options.client,
                options.servers,
                f"copier-{options.group}",
                options.timeout_ms,
                options.settings,
            )
        return PlainProducer(options.servers)

    def _recover(self) -> None:
        """Abort and go back to what is committed; where that fails too, a new producer does it."""
        try:
            if self._producer is not None:
                self._producer.abort()
                self._reader.rewind()
                return
        except Failed as error:
            print(f"and again: {error}", file=sys.stderr, flush=True)
        if self._producer is not None:
            self._producer.close()
        self._producer = None

    def _pass_on(self, rows: Sequence[Row]) -> None:
        self._done += len(rows)
        self._batches += 1
        offsets: dict[int, int] = {}
        for row in rows:
            offsets[row.partition] = row.offset + 1
        self._steps[self._options.semantics](rows, offsets)

    # --- the semantics ---------------------------------------------------------------------------

    def _commit_then_produce(self, rows: Sequence[Row], offsets: dict[int, int]) -> None:
        self._reader.commit(offsets)
        self._perhaps_die()
        self._produce(rows)

    def _produce_then_commit(self, rows: Sequence[Row], offsets: dict[int, int]) -> None:
        self._produce(rows)
        self._perhaps_die()
        self._reader.commit(offsets)

    def _in_one_transaction(self, rows: Sequence[Row], offsets: dict[int, int]) -> None:
        assert self._producer is not None
        every = self._options.abort_every
        if every and self._batches % every == 0:
            self._producer.begin()
            self._produce(rows, ABORTED)
            self._producer.offsets(self._reader, self._options.source, offsets)
            self._producer.abort()
        self._producer.begin()
        self._produce(rows)
        self._producer.offsets(self._reader, self._options.source, offsets)
        self._perhaps_die()
        self._producer.commit()

    def _produce(self, rows: Sequence[Row], prefix: bytes = b"") -> None:
        assert self._producer is not None
        for row in rows:
            for partition, value in self._job(row, self._options.partitions):
                self._producer.send(self._options.target, partition, prefix + value)
        self._producer.flush()

    def _perhaps_die(self) -> None:
        if self._options.die_after and self._done >= self._options.die_after:
            os.kill(os.getpid(), signal.SIGKILL)


class PlainProducer:
    """An idempotent producer without transactions, where a copier wants a producer."""

    def __init__(self, servers: str) -> None:
        from confluent_kafka import Producer

        self._errors: list[object] = []
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 2,
                "error_cb": lambda _: None,
                "log_level": 0,
            }
        )

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._producer.produce(topic, value, partition=partition, on_delivery=self._told)

    def _told(self, error: object, _: object) -> None:
        if error is not None:
            self._errors.append(error)

    def flush(self) -> None:
        self._producer.flush()
        if self._errors:
            raise Failed(str(self._errors[0]))

    def begin(self) -> None:
        raise NotImplementedError

    def offsets(self, reader: object, topic: str, offsets: object) -> None:
        raise NotImplementedError

    def commit(self) -> None:
        raise NotImplementedError

    def abort(self) -> None:
        raise Failed("there is no transaction")

    def close(self) -> None:
        self._producer.purge()


class CopierProcess:
    """A copier as a process. `keep_alive`: one that ends by itself is started again."""

    def __init__(self, options: CopierOptions, log_file: Path) -> None:
        self.options = options
        self.log_file = log_file
        self.lives = self.ends = 0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, options: CopierOptions | None = None, *, keep_alive: bool = True) -> None:
        """One more life, with other options where they are given."""
        command = [sys.executable, "-m", "tests.chaos.copier"]
        command.append(json.dumps(asdict(options or self.options)))
        with open(self.log_file, "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.lives += 1
        if keep_alive:
            watch = threading.Thread(target=self._keep_alive, args=(self._process,), daemon=True)
            watch.start()

    def _keep_alive(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        with self._lock:
            if self._process is process:  # nobody has killed it
                self.ends += 1
                self.start()

    def kill(self) -> None:
        """`kill -9`."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def wait(self, timeout_s: float) -> int:
        """Until it has died by itself."""
        assert self._process is not None
        return self._process.wait(timeout_s)

    def ask(self) -> None:
        """Let it print where its threads are, and wait until it may have done so."""
        with self._lock:
            if self._process is not None:
                self._process.send_signal(signal.SIGUSR1)
        time.sleep(TOLD_S)

    def told(self) -> str:
        """What it has printed in all its lives."""
        with contextlib.suppress(FileNotFoundError):
            return self.log_file.read_text("utf-8", "replace")
        return ""


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1)
    sys.exit(Copier(CopierOptions(**json.loads(sys.argv[1]))).run())
