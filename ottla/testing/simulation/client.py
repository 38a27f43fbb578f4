"""The client of a scenario in a simulated cluster: it sends requests as client libraries do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ottla.testing.errors import SHOW_THE_CALLER, Misuse
from ottla.testing.frames import Json
from ottla.testing.records import Content, Headers, Message, Record, content, to_channel
from ottla.testing.simulation.driver import Operation

__tracebackhide__ = SHOW_THE_CALLER

ACKS = {"all": -1, -1: -1, 1: 1, 0: 0}
TIMEOUT_S = 120.0
"""The default of `delivery.timeout.ms` of Kafka's producers, in seconds."""
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Produced:
    """The place of a record that was written.

    `offset` is -1 if the client does not know it: with acks=0, or if an idempotent client had to
    retry and the record was there already.
    """

    topic: str
    partition: int
    offset: int


class SimulatedClient:
    """A client with its own connections: `cluster.client("billing")`.

    All times are seconds of virtual time. Retriable errors are retried until `timeout`, as client
    libraries do, with a new leader or coordinator; each attempt waits 3 s for its answer. A failure
    raises `OperationFailed`, whose `unsure` says whether the operation may have happened.
    """

    def __init__(self, name: str, *, idempotent: bool) -> None:
        self.name = name
        self.idempotent = idempotent

    def _do(self, op: str, args: Mapping[str, Json], shown: str) -> Operation:
        """Return an operation of this client, which begins when it is awaited. `shown` is its text
        in the timeline."""
        return Operation(self.name, op, {**args, "idempotent": self.idempotent}, shown)

    # --- producing -----------------------------------------------------------------------------

    async def produce(
        self,
        topic: str,
        value: Content = None,
        *,
        key: Content = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: datetime | int | None = None,
        acks: str | int = "all",
        timeout: float = TIMEOUT_S,
    ) -> Produced:
        """Write one record, and return its place. Key and value are bytes, text, or JSON values.
        `timestamp` is in ms since 1970; None: the client's time.

        Without `partition` the key decides, as with Java's clients; records without a key go to the
        partitions in turn. `acks` is "all", 1 or 0; with 0 no answer is waited for. A client that
        is not idempotent may write the record twice if it retries. Raises OperationFailed; Misuse
        for other `acks`.
        """
        if acks not in ACKS:
            raise Misuse(f"acks is 'all', 1 or 0, not {acks!r}")
        (record,) = to_channel([Message(value, key, headers, timestamp)])
        args = {
            "topic": topic,
            "records": [record],
            "partition": partition,
            "acks": ACKS[acks],
            "timeout_ms": timeout * 1000,
        }
        suffix = "" if partition is None else f"-{partition}"
        shown = f"produce {topic}{suffix} {_pair(key, value)}"
        place = await self._do("produce", args, shown)
        return Produced(topic, place[0], place[1])

    # --- consuming -----------------------------------------------------------------------------

    async def read(
        self,
        topic: str,
        partition: int = 0,
        offset: int | str = "earliest",
        count: int = 1,
        *,
        committed: bool = True,
        timeout: float = TIMEOUT_S,
    ) -> list[Record]:
        """Return `count` records from `offset` on, as soon as they are there.

        `offset` is a number, "earliest" or "latest". `committed`: leave out records of transactions
        that are open or aborted. Raises OperationFailed TIMED_OUT if fewer records came within
        `timeout`.
        """
        start = await self._start(topic, partition, offset, timeout)
        shown = f"read {count} of {topic}-{partition} from {start}"
        return await self._fetch(topic, partition, start, count, 500, committed, timeout, shown)

    async def poll(
        self,
        topic: str,
        partition: int = 0,
        offset: int | str = "earliest",
        *,
        wait: float = 0.5,
        committed: bool = True,
        timeout: float = TIMEOUT_S,
    ) -> list[Record]:
        """Return the records from `offset` on, after a single Fetch that waits at most `wait`
        seconds; the list may be empty. `offset` is a number, "earliest" or "latest". Raises
        OperationFailed."""
        start = await self._start(topic, partition, offset, timeout)
        wait_ms = round(wait * 1000)
        shown = f"poll {topic}-{partition} from {start}"
        return await self._fetch(topic, partition, start, 0, wait_ms, committed, timeout, shown)

    async def _fetch(
        self,
        topic: str,
        partition: int,
        offset: int,
        count: int,
        wait_ms: int,
        committed: bool,
        timeout: float,
        shown: str,
    ) -> list[Record]:
        """Return `count` records from `offset` on; with 0, those of a single Fetch that waits at
        most `wait_ms`. Raises OperationFailed TIMED_OUT after `timeout` seconds of virtual time."""
        args = {
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "count": count,
            "committed": committed,
            "wait_ms": wait_ms,
            "timeout_ms": timeout * 1000,
        }
        records, _, _ = await self._do("fetch", args, shown)
        return [record_of(record) for record in records]

    async def _start(self, topic: str, partition: int, offset: int | str, timeout: float) -> int:
        """Return `offset`, or the offset of a partition that "earliest" or "latest" stands for."""
        if isinstance(offset, int):
            return offset
        return await self.offset(topic, partition, offset, timeout=timeout)

    async def offset(
        self, topic: str, partition: int = 0, which: str = "latest", *, timeout: float = TIMEOUT_S
    ) -> int:
        """Return the first offset of a partition ("earliest"), or the offset of its next record
        ("latest").

        Raises OperationFailed; Misuse for another word.
        """
        if which not in ("earliest", "latest"):
            raise Misuse(f"an offset is a number, 'earliest' or 'latest', not {which!r}")
        args = {
            "topic": topic,
            "partition": partition,
            "which": which,
            "timeout_ms": timeout * 1000,
        }
        offset = await self._do("offset", args, f"{which} offset of {topic}-{partition}")
        return int(offset)

    # --- groups --------------------------------------------------------------------------------

    async def commit(
        self,
        group: str,
        topic: str,
        offset: int,
        partition: int = 0,
        *,
        member_id: str = "",
        generation: int = -1,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """Commit an offset of a group. `member_id` and `generation` are those of a member that
        joined by requests; without them the group must have no members. Raises OperationFailed."""
        args = {
            "group": group,
            "offsets": [[topic, partition, offset]],
            "member_id": member_id,
            "generation": generation,
            "timeout_ms": timeout * 1000,
        }
        await self._do("commit", args, f"commit {group} {topic}-{partition} at {offset}")

    async def committed(
        self, group: str, topic: str, partition: int = 0, *, timeout: float = TIMEOUT_S
    ) -> int | None:
        """Return the committed offset of a group; None if it has committed none. Raises
        OperationFailed."""
        args = {
            "group": group,
            "topic": topic,
            "partition": partition,
            "timeout_ms": timeout * 1000,
        }
        offset = await self._do("committed", args, f"committed {group} {topic}-{partition}")
        return None if offset is None else int(offset)

    # --- topics, and anything else ---------------------------------------------------------------

    async def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        *,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """Create a topic, and wait until its partitions have leaders. `replication_factor` -1:
        three, or all brokers if there are fewer. Raises OperationFailed, also if the topic existed
        before."""
        args = {
            "topic": topic,
            "partitions": partitions,
            "replication": replication_factor,
            "configs": dict(configs or {}),
            "timeout_ms": timeout * 1000,
        }
        await self._do("create_topic", args, f"create topic {topic}")

    async def partitions(self, topic: str, *, timeout: float = TIMEOUT_S) -> int:
        """Return the number of a topic's partitions, as soon as all have leaders. Raises
        OperationFailed."""
        args = {"topic": topic, "timeout_ms": timeout * 1000}
        return int(await self._do("partitions", args, f"partitions of {topic}"))

    async def request(
        self,
        api: str,
        fields: Mapping[str, Json] | None = None,
        *,
        version: int | None = None,
        broker: int | None = None,
        timeout: float = 3.0,
    ) -> dict[str, Json]:
        """Send a request of any API once, as it is, and return its whole answer. It is not retried.

            answer = await client.request("Metadata", {"topics": [{"name": "orders"}]})

        Fields are Kafka's, in snake case; fields that are left out have their defaults. `version`
        None: the newest that Ottla serves. `broker` is an id; None: any broker. Errors in the
        answer are not raised, but no answer within `timeout` raises OperationFailed NO_ANSWER.
        """
        args = {
            "api": api,
            "fields": dict(fields or {}),
            "version": version,
            "broker": broker,
            "timeout_ms": timeout * 1000,
        }
        answer: dict[str, Json] = await self._do("request", args, f"request {api}")
        return answer


def record_of(values: Json) -> Record:
    """Return a Record made of a list in the worker's form: topic, partition, offset, timestamp
    (ms), key, value and headers."""
    topic, partition, offset, timestamp, key, value, headers = values
    pairs = tuple((name, content_of_header) for name, content_of_header in headers)
    return Record(topic, partition, offset, timestamp, key, value, pairs)


def _pair(key: Content, value: Content) -> str:
    """Return a key and a value as text, cut off after _SHOWN_CHARACTERS characters. A key that is
    None is left out."""
    shown = repr(content(value))
    if key is not None:
        shown = f"{content(key)!r}: {shown}"
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"
