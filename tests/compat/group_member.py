"""One consumer of a group in a process of its own, with any of the Python clients or Java's.

`python -m tests.compat.group_member '{"client": …, "servers": …, …}'` tells what it sees as lines
of JSON on stdout: `{"assigned": [[topic, partition], …]}` when that changes, `{"record": [topic,
partition, offset, value]}`, `{"did": "commit sync"}` and `{"failed": "…"}`. It obeys lines on
stdin: `commit sync`, `commit async`, `pause 0` and `resume 0` by partition, `close`. `GroupMember`
starts one and reads it; `kill` is SIGKILL. Where a client's name ends in `/consumer`, the broker
assigns (KIP-848); `tests/java/src/GroupMember.java` is the member of `java`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from protocol.errors import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.clients.kafka_python_joins import with_whole_joins
from tests.clients.wire_client import WireClient
from tests.tools.java_tools import java_command, program_classpath
from tests.tools.waiting import LIMIT_S, wait_until

CONSUMER_PROTOCOL = "/consumer"
JAVA = "java"
CLIENTS = (
    "confluent-kafka",
    "confluent-kafka/consumer",
    "kafka-python",
    "aiokafka",
    "java",
    "java/consumer",
)
STRATEGIES = {
    "confluent-kafka": ("range", "roundrobin", "cooperative-sticky"),
    "kafka-python": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "aiokafka": ("range", "roundrobin", "sticky"),
    "java": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "confluent-kafka/consumer": ("range", "uniform"),
    "java/consumer": ("range", "uniform"),
}
"""The assignment strategies that each client has; of the broker's assignors, where it assigns."""

SESSION_MS = 45_000
"""A member that a busy machine holds up stays one; a test that kills members asks for less."""
HEARTBEAT_MS = 500
METADATA_MS = 1_000

TopicPartition = tuple[str, int]


class Consumer(Protocol):
    """What the three clients have in common."""

    def poll(self, timeout_s: float) -> list[list[Any]]:
        """[topic, partition, offset, value] of what came."""

    def assignment(self) -> list[TopicPartition]:
        """What it owns now."""

    def commit(self, how: str) -> None:
        """Commit the position, `sync` or `async`."""

    def pause(self, partition: int) -> None:
        """Read nothing of these partitions until they are resumed."""

    def resume(self, partition: int) -> None:
        """Read on."""

    def close(self) -> None:
        """Leave the group."""


class ConfluentConsumer:
    """confluent-kafka (librdkafka)."""

    def __init__(self, options: dict[str, Any]) -> None:
        from confluent_kafka import Consumer as Confluent

        config = {
            "bootstrap.servers": options["servers"],
            "group.id": options["group"],
            **self._protocol(options),
            "topic.metadata.refresh.interval.ms": METADATA_MS,
            "auto.offset.reset": {"none": "error"}.get(options["reset"], options["reset"]),
            "enable.auto.commit": options.get("auto_commit", False),
            "auto.commit.interval.ms": 300,
        }
        if options.get("instance"):
            config["group.instance.id"] = options["instance"]
        self._consumer = Confluent(config)
        topics = ["^" + options["pattern"]] if options.get("pattern") else options["topics"]
        self._consumer.subscribe(topics)

    @staticmethod
    def _protocol(options: dict[str, Any]) -> dict[str, Any]:
        if not options["client"].endswith(CONSUMER_PROTOCOL):
            return {
                "partition.assignment.strategy": options.get("strategy", "range"),
                "session.timeout.ms": options.get("session_ms", SESSION_MS),
                "heartbeat.interval.ms": HEARTBEAT_MS,
            }
        chosen = {"group.protocol": "consumer"}
        if options.get("strategy"):
            chosen["group.remote.assignor"] = options["strategy"]
        return chosen

    def poll(self, timeout_s: float) -> list[list[Any]]:
        from confluent_kafka import KafkaError, KafkaException

        records = []
        for message in self._consumer.consume(100, timeout_s):
            error = message.error()
            if error is None:
                records.append(
                    [message.topic(), message.partition(), message.offset(), message.value()]
                )
            elif error.code() in (KafkaError._FATAL, KafkaError._AUTO_OFFSET_RESET):
                raise KafkaException(error)
        return records

    def assignment(self) -> list[TopicPartition]:
        return [(p.topic, p.partition) for p in self._consumer.assignment()]

    def commit(self, how: str) -> None:
        self._consumer.commit(asynchronous=how == "async")

    def _places(self, partition: int) -> list[Any]:
        return [one for one in self._consumer.assignment() if one.partition == partition]

    def pause(self, partition: int) -> None:
        self._consumer.pause(self._places(partition))

    def resume(self, partition: int) -> None:
        self._consumer.resume(self._places(partition))

    def close(self) -> None:
        self._consumer.close()


class KafkaPythonConsumer:
    """kafka-python."""

    def __init__(self, options: dict[str, Any]) -> None:
        from kafka import KafkaConsumer
        from kafka.coordinator.assignors import cooperative_sticky, range, roundrobin
        from kafka.coordinator.assignors.sticky import sticky_assignor

        assignors = {
            "range": range.RangePartitionAssignor,
            "roundrobin": roundrobin.RoundRobinPartitionAssignor,
            "sticky": sticky_assignor.StickyPartitionAssignor,
            "cooperative-sticky": cooperative_sticky.CooperativeStickyAssignor,
        }
        self._consumer = KafkaConsumer(
            bootstrap_servers=options["servers"],
            group_id=options["group"],
            group_instance_id=options.get("instance"),
            partition_assignment_strategy=[assignors[options.get("strategy", "range")]],
            session_timeout_ms=options.get("session_ms", SESSION_MS),
            heartbeat_interval_ms=HEARTBEAT_MS,
            metadata_max_age_ms=METADATA_MS,
            auto_offset_reset=options["reset"],
            enable_auto_commit=options.get("auto_commit", False),
            auto_commit_interval_ms=300,
        )
        with_whole_joins(self._consumer)
        if options.get("pattern"):
            self._consumer.subscribe(pattern=options["pattern"])
        else:
            self._consumer.subscribe(options["topics"])

    def poll(self, timeout_s: float) -> list[list[Any]]:
        batches = self._consumer.poll(timeout_ms=int(timeout_s * 1_000))
        return [
            [r.topic, r.partition, r.offset, r.value] for batch in batches.values() for r in batch
        ]

    def assignment(self) -> list[TopicPartition]:
        return [(p.topic, p.partition) for p in self._consumer.assignment()]

    def commit(self, how: str) -> None:
        if how == "async":
            self._consumer.commit_async()
        else:
            self._consumer.commit()

    def _places(self, partition: int) -> list[Any]:
        return [one for one in self._consumer.assignment() if one.partition == partition]

    def pause(self, partition: int) -> None:
        self._consumer.pause(*self._places(partition))

    def resume(self, partition: int) -> None:
        self._consumer.resume(*self._places(partition))

    def close(self) -> None:
        self._consumer.close(autocommit=True)


class AioKafkaConsumer:
    """aiokafka, its loop run from poll to poll."""

    def __init__(self, options: dict[str, Any]) -> None:
        from aiokafka import AIOKafkaConsumer
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor
        from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
        from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

        assignors = {
            "range": RangePartitionAssignor,
            "roundrobin": RoundRobinPartitionAssignor,
            "sticky": StickyPartitionAssignor,
        }
        self._loop = asyncio.new_event_loop()
        self._pending: list[asyncio.Task[Any]] = []

        async def start() -> Any:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=options["servers"],
                group_id=options["group"],
                group_instance_id=options.get("instance"),
                partition_assignment_strategy=[assignors[options.get("strategy", "range")]],
                session_timeout_ms=options.get("session_ms", SESSION_MS),
                heartbeat_interval_ms=HEARTBEAT_MS,
                metadata_max_age_ms=METADATA_MS,
                auto_offset_reset=options["reset"],
                enable_auto_commit=options.get("auto_commit", False),
                auto_commit_interval_ms=300,
            )
            if options.get("pattern"):
                consumer.subscribe(pattern=options["pattern"])
            else:
                consumer.subscribe(options["topics"])
            await consumer.start()
            return consumer

        self._consumer = self._loop.run_until_complete(start())

    def poll(self, timeout_s: float) -> list[list[Any]]:
        batches = self._loop.run_until_complete(
            self._consumer.getmany(timeout_ms=int(timeout_s * 1_000))
        )
        return [
            [r.topic, r.partition, r.offset, r.value] for batch in batches.values() for r in batch
        ]

    def assignment(self) -> list[TopicPartition]:
        return [(p.topic, p.partition) for p in self._consumer.assignment()]

    def commit(self, how: str) -> None:
        task = self._loop.create_task(self._consumer.commit())
        if how == "sync":
            self._loop.run_until_complete(task)
        else:
            self._pending.append(task)

    def _places(self, partition: int) -> list[Any]:
        return [one for one in self._consumer.assignment() if one.partition == partition]

    def pause(self, partition: int) -> None:
        self._in_loop(self._consumer.pause, partition)

    def resume(self, partition: int) -> None:
        self._in_loop(self._consumer.resume, partition)

    def _in_loop(self, what: Callable[..., None], partition: int) -> None:
        """It makes a future, which it can do only where its loop runs."""

        async def done() -> None:
            what(*self._places(partition))

        self._loop.run_until_complete(done())

    def close(self) -> None:
        for task in self._pending:
            self._loop.run_until_complete(task)
        self._loop.run_until_complete(self._consumer.stop())


MAKERS: dict[str, Callable[[dict[str, Any]], Consumer]] = {
    "confluent-kafka": ConfluentConsumer,
    "confluent-kafka/consumer": ConfluentConsumer,
    "kafka-python": KafkaPythonConsumer,
    "aiokafka": AioKafkaConsumer,
}


def _tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _read_commands(commands: queue.Queue[str]) -> None:
    for line in sys.stdin:
        commands.put(line.strip())
    commands.put("close")


def run(options: dict[str, Any]) -> None:
    """Consume until told to close."""
    commands: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_commands, args=(commands,), daemon=True).start()
    consumer = MAKERS[options["client"]](options)
    known: list[TopicPartition] = []
    while True:
        try:
            records = consumer.poll(0.1)
        except Exception as error:  # noqa: BLE001 - the test judges
            _tell(failed=f"{type(error).__name__}: {error}")
            break
        owned = sorted(consumer.assignment())
        if owned != known:
            known = owned
            _tell(assigned=owned)
        for topic, partition, offset, value in records:
            _tell(record=[topic, partition, offset, value.decode()])
        with contextlib.suppress(queue.Empty):
            command = commands.get_nowait()
            if command == "close":
                break
            what, _, how = command.partition(" ")
            if what == "commit":
                consumer.commit(how)
            else:
                getattr(consumer, what)(int(how))
            _tell(did=command)
    with contextlib.suppress(Exception):
        consumer.close()
    _tell(closed=True)


def _command(options: dict[str, Any]) -> list[str]:
    if options["client"].startswith(JAVA):
        return java_command("GroupMember", json.dumps(options), classpath=program_classpath())
    return [sys.executable, "-m", "tests.compat.group_member", json.dumps(options)]


class GroupMember:
    """A consumer process and what it told so far."""

    def __init__(self, client: str, servers: str, group: str, *topics: str, **options: Any) -> None:
        values = {
            "client": client,
            "servers": servers,
            "group": group,
            "topics": list(topics),
            "reset": "earliest",
            **options,
        }
        self.assigned: list[TopicPartition] = []
        self.assignments = 0
        self.records: list[tuple[str, int, int, str]] = []
        self.told: list[str] = []
        self.failed: str | None = None
        self._process = subprocess.Popen(
            _command(values),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(json.JSONDecodeError):
                self._note(json.loads(line))

    def _note(self, what: dict[str, Any]) -> None:
        if "assigned" in what:
            self.assigned = [(topic, partition) for topic, partition in what["assigned"]]
            self.assignments += 1
        elif "record" in what:
            self.records.append(tuple(what["record"]))
        elif "failed" in what:
            self.failed = what["failed"]
        elif "did" in what:
            self.told.append(what["did"])

    def order(self, command: str) -> None:
        """`commit sync`, `commit async`, `pause 0`, `resume 0` or `close`."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()

    def commit(self, how: str) -> None:
        """Commit, and wait until it was done (sync) or sent (async)."""
        self.obey(f"commit {how}")

    def obey(self, command: str) -> None:
        """Do as `order` says, and wait until it is done."""
        before = len(self.told)
        self.order(command)
        until(lambda: self.told[before:] == [command], command)

    def kill(self) -> None:
        """SIGKILL: it leaves nobody a word."""
        self._process.kill()
        self._end()

    def close(self) -> None:
        """Leave the group and end."""
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                self.order("close")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(60)
        self.kill()

    def _end(self) -> None:
        self._process.wait()
        self._reader.join(60)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def __enter__(self) -> GroupMember:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def until(condition: Callable[[], bool], what: str, timeout_s: float = LIMIT_S) -> None:
    """Wait for `condition`; AssertionError that names `what` if it does not come."""
    wait_until(condition, what, limit_s=timeout_s, pause_s=0.05)


def set_session(broker: str, group: str, timeout_ms: int) -> None:
    """Give the members of a group sessions of that length, where the broker assigns."""
    value = str(timeout_ms)
    config = AlterableConfig("consumer.session.timeout.ms", 0, value)
    resource = AlterConfigsResource(32, group, [config])
    with WireClient(int(broker.rsplit(":", 1)[1])) as wire:
        answer = wire.call(IncrementalAlterConfigsRequest([resource]), 1)
    assert answer.responses[0].error_code == ErrorCode.NONE, answer


if __name__ == "__main__":
    run(json.loads(sys.argv[1]))
