"""Scenarios of one node: its start, single records, batches by librdkafka and by the replayer."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.batches import CLIENT as LIBRDKAFKA
from bench.batches import producing
from bench.peers import BenchPeer
from bench.replayer import ReplayedConnection, replay_targets
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    MEMORY,
    RATE,
    SMALLER,
    Figure,
    Load,
    Run,
    Scenario,
    SteadyWindows,
    WindowResult,
    steady,
)
from bench.wire import (
    batch_frame,
    batch_of,
    create_topic,
    end_offset,
    produce_frame,
    produce_one,
    wait_for_end,
)

REPLAYER = "replayer"
VALUE_BYTES = 100
BATCH_BYTES = 1_000_000
BATCH_RECORDS_MAX = 8_000
DEPTH = 5  # requests in flight, the default of librdkafka and the Java producer
LOT = 500
SIZES = {"100": 100, "1k": 1024, "10k": 10_240}
ACKS = {"0": 0, "1": 1, "all": -1}
CODECS = ("gzip", "snappy", "lz4", "zstd")


def start_up(peer: BenchPeer, _window_s: float) -> list[Figure]:
    """Return the time and the memory of the peer's start."""
    return [
        Figure("start", "s", peer.start_s, SMALLER),
        Figure("memory, idle", "MiB", peer.idle_mib, SMALLER),
    ]


def single_record(connections: int) -> Run:
    """Measure Produce requests of one 100-byte record, acks=1, one in flight on each connection."""

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        measured = steady(peer, single_load(peer, connections), window_s)
        return [
            Figure(RATE, "req/s", measured.rate, LARGER),
            Figure(BROKER_CPU, "µs/req", measured.cpu_per_unit * 1e6, SMALLER),
            *measured.latencies("µs"),
            measured.client_load,
        ]

    return run


def single_load(peer: BenchPeer, connections: int) -> Load:
    """Return a load with a partition for each connection.

    It raises RuntimeError if the log lacks acknowledged records.
    """
    topic = f"single-{connections}"
    create_topic(peer.port, topic, connections)
    produce_one(peer.port, topic, connections)
    targets = [
        ReplayedConnection(peer.port, [produce_frame(topic, index, VALUE_BYTES)])
        for index in range(connections)
    ]

    def written() -> int:
        return sum(end_offset(peer.port, topic, index) for index in range(connections))

    def load(seconds: float) -> WindowResult:
        """Replay the requests. Raises RuntimeError unless each answer was a written record."""
        before = written()
        done = replay_targets(targets, seconds)
        if written() - before != done.answers:
            raise RuntimeError("some of the measured requests were refused")
        return WindowResult(done.answers, done.trips, done.seconds)

    return load


def batched(value_bytes: int, acks: str, codec: str = "none", producers: int = 1) -> Run:
    """Measure librdkafka with batches of up to 1 MB, a partition for each producer."""

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        values = values_of(value_bytes) if codec == "none" else texts_of(value_bytes)
        settings = {"acks": acks, "compression.type": codec}
        measured = measured_batches(peer, values, settings, producers, window_s)
        return batch_figures(measured, value_bytes)

    return run


def measured_batches(
    peer: BenchPeer,
    values: Sequence[bytes],
    settings: Mapping[str, object],
    producers: int,
    window_s: float,
    warm_up_s: float = 0.0,
) -> SteadyWindows:
    """Measure librdkafka's messages of `values`; acknowledged messages must be in the log.

    The same load runs for `warm_up_s` before, which does not count.
    """

    def load(topic: str, seconds: float) -> WindowResult:
        sent = produce(topic, seconds)
        for partition, count in enumerate(sent):
            wait_for_end(peer.port, topic, partition, count)
        return WindowResult(sum(sent))

    with producing(peer.bootstrap, values, settings, producers) as produce:
        if warm_up_s:
            create_topic(peer.port, "warmed-up", producers)
            load("warmed-up", warm_up_s)
        return with_fresh_topics(peer, load, window_s, partitions=producers)


def replayed(value_bytes: int, acks: str) -> Run:
    """Measure encoded requests of one batch of up to 1 MB, one connection, one partition."""
    records = min(BATCH_RECORDS_MAX, BATCH_BYTES // (value_bytes + 12))

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        batch = batch_of(records, value_bytes)
        answered = acks != "0"

        def load(topic: str, seconds: float) -> WindowResult:
            produce_one(peer.port, topic)
            target = ReplayedConnection(peer.port, [batch_frame(topic, 0, batch, ACKS[acks])])
            done = replay_targets([target], seconds, depth=DEPTH, answered=answered)
            wait_for_end(peer.port, topic, 0, 1 + done.answers * records)
            # Without answers the load ends with the last record in the log.
            return WindowResult(
                done.answers * records, done.trips, done.seconds if answered else None
            )

        measured = with_fresh_topics(peer, load, window_s)
        return [*batch_figures(measured, value_bytes), *measured.latencies("ms")]

    return run


def values_of(value_bytes: int) -> list[bytes]:
    """Return the messages for one call into librdkafka."""
    return [b"v" * value_bytes] * LOT


def texts_of(value_bytes: int) -> list[bytes]:
    """Return different values from a thousand words in random order, which codecs can compress."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 10))) for _ in range(1_000)]
    texts = (" ".join(chance.choices(words, k=value_bytes)) for _ in range(LOT))
    return [text[:value_bytes].encode() for text in texts]


def with_fresh_topics(
    peer: BenchPeer,
    load: Callable[[str, float], WindowResult],
    window_s: float,
    partitions: int = 1,
) -> SteadyWindows:
    """Load each window into a new topic, so that the disk holds few windows' data at a time."""
    topics = _fresh_topics(peer, partitions)
    return steady(peer, lambda seconds: load(next(topics), seconds), window_s)


def _fresh_topics(peer: BenchPeer, partitions: int) -> Iterator[str]:
    for number in itertools.count():
        topic = f"batched-{number}"
        create_topic(peer.port, topic, partitions)
        yield topic


def batch_figures(measured: SteadyWindows, value_bytes: int) -> list[Figure]:
    """Return MB/s, messages a second and CPU for a GB of values; a load's unit is a message."""
    gigabytes = measured.units * value_bytes / 1e9
    return [
        Figure(RATE, "MB/s", gigabytes * 1e3 / measured.seconds, LARGER),
        Figure("messages", "msg/s", measured.rate, LARGER),
        Figure(BROKER_CPU, "s/GB", measured.cpu_s / gigabytes, SMALLER),
        measured.client_load,
    ]


_GOALS_1K = {RATE: 1.5, BROKER_CPU: 0.6, MEMORY: 0.15}
_GOALS_100 = {"messages": 1.3}
_BATCH_GOALS = {"1k": _GOALS_1K, "100": _GOALS_100}
_SINGLE_GOALS = {
    1: {RATE: 1.2, BROKER_CPU: 0.9, "p50": 0.8, "p99": 1.0},
    8: {RATE: 1.2, BROKER_CPU: 0.9},
    64: {},
}


def _single(connections: int) -> Scenario:
    """Return the scenario `single-N`: Produce requests of one record each, on N connections."""
    goals = _SINGLE_GOALS[connections]
    return Scenario(
        f"single-{connections}",
        "produce",
        "one 100-byte record a request, acks=1",
        REPLAYER,
        connections,
        connections,
        single_record(connections),
        goals=goals,
        limits={BROKER_CPU: 35.0} if goals else {},
        usual=bool(goals),
    )


def _batches(client: str, size: str, acks: str) -> Scenario:
    by_replayer = client == REPLAYER
    make = replayed if by_replayer else batched
    goals = _BATCH_GOALS.get(size, {}) if acks == "1" else {}
    if size == "100" and not by_replayer:
        goals = {}  # a single librdkafka is slower than a fast broker: two of them have the goal
    return Scenario(
        f"{'replayed' if by_replayer else 'batched'}-{size}-acks-{acks}",
        "produce",
        f"batched produce, {SIZES[size]:,} B, acks={acks}",
        client,
        1,
        1,
        make(SIZES[size], acks),
        goals=goals,
        usual=bool(goals) and not by_replayer,
    )


_BY_TWO = Scenario(
    "batched-100-acks-1-by-2",
    "produce",
    "batched produce, 100 B, acks=1, two producers",
    LIBRDKAFKA,
    2,
    2,
    batched(SIZES["100"], "1", producers=2),
    goals=_GOALS_100,
    usual=True,
)


def _compressed(codec: str) -> Scenario:
    return Scenario(
        f"compressed-{codec}",
        "compressed",
        f"batched produce, 1,024 B of text, acks=1, {codec}",
        LIBRDKAFKA,
        1,
        1,
        batched(1024, "1", codec),
    )


SCENARIOS = [
    Scenario(
        "start-up",
        "start-up",
        "from the command to the first acknowledged record",
        REPLAYER,
        1,
        1,
        start_up,
        goals={"start": 0.15},
        usual=True,
    ),
    *map(_single, _SINGLE_GOALS),
    *(_batches(LIBRDKAFKA, size, acks) for size in SIZES for acks in ACKS),
    _BY_TWO,
    *(_batches(REPLAYER, size, acks) for size in SIZES for acks in ACKS),
    *map(_compressed, CODECS),
]
