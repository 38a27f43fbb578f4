"""Fetch and the questions for offsets: limits, offsets, epochs, isolation, sessions in steps."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from tests.differential.generate import Versions
from tests.differential.grids.steps import add, batch_of, create, end, init, produce
from tests.differential.sequence import Body, Sequence, Step

LIMITS = (0, 1, 100, 200, 1 << 20)
WALKS = 60


def grid(versions: Versions) -> Iterator[Sequence]:
    yield from _limits(versions["FETCH"])
    yield from _aborted(versions["FETCH"])
    yield from _offsets(versions["FETCH"])
    yield from _lists(versions["LIST_OFFSETS"])
    for number in range(WALKS):
        yield _walk(number, versions["FETCH"])


def _filled() -> list[Step]:
    """`~t0`: three batches in 0, one large one in 1, none in 2; a transaction that was aborted and
    one that is open in `~t1`."""
    return [
        create("~t0", partitions=3),
        create("~t1", partitions=1),
        *(produce([{"n": 2}]) for _ in range(3)),
        produce([{"n": 1, "size": 500}], partition=1),
        init(),
        *_transaction(),
        end(committed=False),
        *_transaction(),
        produce([{"n": 1}], topic="~t1"),
    ]


def _transaction() -> list[Step]:
    adding = add()
    adding.body["v3_and_below_topics"] = [{"name": "~t1", "partitions": [0]}]
    return [
        adding,
        produce([batch_of("~x0", "~t1/0", txn=True)], topic="~t1", txn="~x0"),
    ]


def fetch(version: int, topics: list[Body], **body: Any) -> Step:
    made = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1, **body}
    return Step("FETCH", version, {**made, "topics": topics})


def _topic(name: str, *partitions: Body) -> Body:
    return {
        "topic": name,
        "topic_id": {"$": "topic_id", "of": name},
        "partitions": [
            {"fetch_offset": 0, "partition_max_bytes": 1 << 20, **one} for one in partitions
        ],
    }


def _limits(versions: tuple[int, int]) -> Iterator[Sequence]:
    """Several partitions under small limits, in each order."""
    orders = ((0, 1), (1, 0), (2, 0, 1), (0, 2, 1), (0, 9, 1))
    for version in sorted({versions[0], 7, 12, versions[1]}):
        steps = [
            fetch(
                version,
                [_topic("~t0", *({"partition": p, "partition_max_bytes": each} for p in order))],
                max_bytes=most,
                min_bytes=least,
            )
            for order, each, most, least in itertools.product(orders, LIMITS, LIMITS, (0, 1))
        ]
        yield Sequence(f"fetch limits v{version}", [*_filled(), *steps], setup=len(_filled()))


def _aborted(versions: tuple[int, int]) -> Iterator[Sequence]:
    """A partition with an aborted transaction, alone and behind another, under small limits."""
    for version in sorted({versions[0], 4, 12, versions[1]}):
        steps = [
            fetch(
                version,
                [
                    *([_topic("~t0", {"partition": 0})] if is_second else []),
                    _topic("~t1", {"fetch_offset": offset, "partition_max_bytes": each}),
                ],
                max_bytes=most,
                isolation_level=1,
            )
            for is_second, each, most in itertools.product((False, True), LIMITS, LIMITS)
            for offset in (0, 1, 2, 3)
        ]
        yield Sequence(f"aborted v{version}", [*_filled(), *steps], setup=len(_filled()))


def _offsets(versions: tuple[int, int]) -> Iterator[Sequence]:
    offsets = (-1, 0, 1, 4, 5, 6, 7, 100, 2**63 - 1, -(2**63))
    for version in sorted({versions[0], 9, 12, versions[1]}):
        steps = []
        for offset, current, last in itertools.product(offsets, (-2, -1, 0, 1), (-1, 0, 1)):
            for name in ("~t0", "~t1"):
                part = {"partition": 0, "fetch_offset": offset, "current_leader_epoch": current}
                part["last_fetched_epoch"] = last
                steps.append(fetch(version, [_topic(name, part)]))
        for level, offset in itertools.product((0, 1, 2, -1, 127), (0, 1, 2, 3)):
            part = {"partition": 0, "fetch_offset": offset}
            steps.append(fetch(version, [_topic("~t1", part)], isolation_level=level))
        for replica in (-1, -2, -3, 1, 5):
            body = {"replica_state": {"replica_id": replica, "replica_epoch": -1}}
            if version < 15:
                body = {"replica_id": replica}
            steps.append(fetch(version, [_topic("~t0", {"partition": 0})], **body))
        deletion = {"partitions": [{"partition_index": 0, "offset": 2}]}
        delete = Step(
            "DELETE_RECORDS", 2, {"topics": [{"name": "~t0", **deletion}], "timeout_ms": 5000}
        )
        yield Sequence(f"fetch offsets v{version}", [*_filled(), *steps], setup=len(_filled()))
        steps = [s for s in steps if s.body["topics"][0]["topic"] == "~t0"]
        yield Sequence(
            f"fetch offsets of a shorter log v{version}",
            [*_filled(), delete, *steps],
            setup=len(_filled()) + 1,
        )


def _lists(versions: tuple[int, int]) -> Iterator[Sequence]:
    """ListOffsets and OffsetsForLeaderEpoch."""
    stamps = (-1, -2, -3, -4, -5, -6, -7, 0, 1_700_000_000_000, 1_700_000_000_001, 2**62)
    for version in range(versions[0], versions[1] + 1):
        steps = []
        for stamp, level, epoch in itertools.product(stamps, (0, 1, 2), (-2, -1, 0, 1)):
            for name in ("~t0", "~t1"):
                part = {"partition_index": 0, "timestamp": stamp, "current_leader_epoch": epoch}
                topics = [{"name": name, "partitions": [part]}]
                body = {"replica_id": -1, "isolation_level": level, "topics": topics}
                steps.append(Step("LIST_OFFSETS", version, body))
        yield Sequence(f"list offsets v{version}", [*_filled(), *steps], setup=len(_filled()))
    steps = []
    epochs = (-2, -1, 0, 1, 2**31 - 1)
    for version, current, epoch, replica in itertools.product(
        (2, 3, 4), epochs, epochs, (-1, -2, 1)
    ):
        part = {"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch}
        body = {"replica_id": replica, "topics": [{"topic": "~t0", "partitions": [part]}]}
        steps.append(Step("OFFSET_FOR_LEADER_EPOCH", version, body))
    yield Sequence("offsets for epochs", [*_filled(), *steps], setup=len(_filled()))


def _walk(number: int, versions: tuple[int, int]) -> Sequence:
    """A session over five partitions with small limits, and what comes in between."""
    rng = random.Random(f"session walk {number}")
    version = rng.choice((7, 11, 12, 13, versions[1]))
    steps = [
        create("~t0", partitions=3),
        create("~t1", partitions=2),
        fetch(version, [_topic(name, *_parts(rng, n)) for name, n in (("~t0", 3), ("~t1", 2))],
              session_id=0, session_epoch=0),
    ]  # fmt: skip
    while len(steps) < 25:
        if rng.random() < 0.45:
            topic, partition = rng.choice(
                (("~t0", 0), ("~t0", 1), ("~t0", 2), ("~t1", 0), ("~t1", 1))
            )
            records = [{"n": rng.choice((1, 2)), "size": rng.choice((10, 300))}]
            steps.append(produce(records, topic=topic, partition=partition))
            continue
        steps.append(_in_session(rng, version))
    return Sequence(f"session walk {number} v{version}", steps)


def _parts(rng: random.Random, count: int) -> list[Body]:
    return [
        {"partition": p, "partition_max_bytes": rng.choice((0, 1, 150, 1 << 20))}
        for p in range(count)
    ]


def _in_session(rng: random.Random, version: int) -> Step:
    epoch: Any = {"$": "session_epoch", "of": "0"}
    if rng.random() < 0.05:
        epoch = {**epoch, "add": rng.choice((1, -1))}
    body: Body = {
        "session_id": {"$": "session", "of": "0"},
        "session_epoch": epoch,
        "max_bytes": rng.choice((0, 1, 200, 500, 1 << 20)),
        "isolation_level": rng.choice((0, 0, 0, 1)),
    }
    topics = []
    if rng.random() < 0.5:
        parts = [
            {
                "partition": p,
                "fetch_offset": rng.choice((0, 1, 2, 50)),
                "partition_max_bytes": rng.choice((0, 1, 150, 1 << 20)),
            }
            for p in rng.sample((0, 1, 2, 7), rng.choice((1, 2)))
        ]
        topics.append(_topic(rng.choice(("~t0", "~t1", "~t9")), *parts))
    if rng.random() < 0.25:
        name = rng.choice(("~t0", "~t1", "~t9"))
        forgotten = {"topic": name, "topic_id": {"$": "topic_id", "of": name}}
        body["forgotten_topics_data"] = [{**forgotten, "partitions": rng.sample((0, 1, 2), 2)}]
    return fetch(version, topics, **body)
