"""A client in a simulated cluster: it asks as client libraries do, in virtual time."""

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
"""As `delivery.timeout.ms` of Kafka's producers."""
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Produced:
    """Where a record is. `offset` is -1 where the client was not told: with acks=0, or when an
    idempotent client had to ask again and the record was there already."""

    topic: str
    partition: int
    offset: int


class SimulatedClient:
    """One client with its own connections: `cluster.client("billing")`.

    All times are seconds of virtual time. What a passing error prevents is tried again until
    `timeout`, as clients do, with a new leader or coordinator; each try waits 3 s for its answer.
    What fails raises `OperationFailed`, whose `unsure` says whether it may have been done.
    """

    def __init__(self, name: str, *, idempotent: bool) -> None:
        self.name = name
        self.idempotent = idempotent

    def _do(self, op: str, args: Mapping[str, Json], shown: str) -> Operation:
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
        """Write one record. Key and value are bytes, text, or what JSON can say.

        Without `partition` the key decides, as with Java's clients; those without a key go to the
        partitions in turn. A client that is not idempotent and has to ask again may write twice.
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
        which = "" if partition is None else f"-{partition}"
        shown = f"produce {topic}{which} {_pair(key, value)}"
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
        """`count` records from `offset` on, once they are there. `offset`: a number, "earliest" or
        "latest". `committed`: without those of transactions that are open or aborted.

        Raises OperationFailed TIMED_OUT where fewer came in time.
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
        """What there is from `offset` on, after `wait` seconds at the most; perhaps nothing."""
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
        args = {
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "count": count,
            "committed": committed,
            "wait_ms": wait_ms,
            "timeout_ms": timeout * 1000,
        }
        found, _, _ = await self._do("fetch", args, shown)
        return [record_of(one) for one in found]

    async def _start(self, topic: str, partition: int, offset: int | str, timeout: float) -> int:
        if isinstance(offset, int):
            return offset
        return await self.offset(topic, partition, offset, timeout=timeout)

    async def offset(
        self, topic: str, partition: int = 0, which: str = "latest", *, timeout: float = TIMEOUT_S
    ) -> int:
        """The first offset of a partition ("earliest"), or the one that comes next ("latest")."""
        if which not in ("earliest", "latest"):
            raise Misuse(f"an offset is a number, 'earliest' or 'latest', not {which!r}")
        args = {
            "topic": topic,
            "partition": partition,
            "which": which,
            "timeout_ms": timeout * 1000,
        }
        found = await self._do("offset", args, f"{which} offset of {topic}-{partition}")
        return int(found)

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
        """Commit where a group goes on. `member_id` and `generation` are those of a member that
        joined by requests; without them the group must have no members."""
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
        """Where a group goes on; None where it never committed."""
        args = {
            "group": group,
            "topic": topic,
            "partition": partition,
            "timeout_ms": timeout * 1000,
        }
        found = await self._do("committed", args, f"committed {group} {topic}-{partition}")
        return None if found is None else int(found)

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
        """Make a topic, and wait until it is led. `replication_factor` -1: three, or as many
        brokers as there are."""
        args = {
            "topic": topic,
            "partitions": partitions,
            "replication": replication_factor,
            "configs": dict(configs or {}),
            "timeout_ms": timeout * 1000,
        }
        await self._do("create_topic", args, f"create topic {topic}")

    async def partitions(self, topic: str, *, timeout: float = TIMEOUT_S) -> int:
        """How many partitions a topic has."""
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
        """Send any request once, as it is, and give the whole answer; nothing is tried again.

            answer = await client.request("Metadata", {"topics": [{"name": "orders"}]})

        Fields are Kafka's, in snake case; what is left out has its default. `version`: the newest
        that Ottla serves. `broker`: its id; None: any. Errors in the answer are for the caller;
        NO_ANSWER is raised as OperationFailed.
        """
        args = {
            "api": api,
            "fields": dict(fields or {}),
            "version": version,
            "broker": broker,
            "timeout_ms": timeout * 1000,
        }
        found: dict[str, Json] = await self._do("request", args, f"request {api}")
        return found


def record_of(told: Json) -> Record:
    """A record as the channel has it."""
    topic, partition, offset, timestamp, key, value, headers = told
    pairs = tuple((name, one) for name, one in headers)
    return Record(topic, partition, offset, timestamp, key, value, pairs)


def _pair(key: Content, value: Content) -> str:
    shown = repr(content(value))
    if key is not None:
        shown = f"{content(key)!r}: {shown}"
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"
