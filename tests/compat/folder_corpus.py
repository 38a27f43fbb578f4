"""Topics of every kind for who reads their folders: all codecs, nulls, headers, compacted ones and
transactions, those that were aborted and one that stays open.

Written by confluent-kafka through a running broker; the folders are the broker's own work.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.tools.waiting import wait_until

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CODEC_TOPIC, TRANSACTION_TOPIC, COMPACTED_TOPIC = "all.codecs-1", "in_transactions", "last-values"
TOPICS = (CODEC_TOPIC, TRANSACTION_TOPIC, COMPACTED_TOPIC)
PROPERTIES = {"log.cleaner.backoff.ms": "100", "log.segment.delete.delay.ms": "0"}
"""Of the broker: its cleaner does not wait."""

_FIRST_MS = time.time_ns() // 1_000_000 - 40_000_000
_STEP_MS = 2_000
_SMALL_SEGMENTS = {"segment.ms": "1000"}
_TIMEOUT_S = 90
_PASSING = (".cleaned", ".swap", ".deleted")
"""Files that a cleaner makes while it is at work, and those in whose place it has put others."""


def make_topics(bootstrap: str) -> None:
    """The topics, empty."""
    compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics(
        [
            NewTopic(CODEC_TOPIC, 2, 1, config=_SMALL_SEGMENTS),
            NewTopic(TRANSACTION_TOPIC, 1, 1, config=_SMALL_SEGMENTS),
            NewTopic(COMPACTED_TOPIC, 1, 1, config={**_SMALL_SEGMENTS, **compact}),
        ]
    )
    for one in made.values():
        one.result(_TIMEOUT_S)


@contextmanager
def filled(bootstrap: str, data_dir: Path) -> Iterator[None]:
    """All topics have their records, and a transaction is open until the end of this."""
    writer = _Writer(bootstrap)
    for codec in CODECS:
        writer.every_kind(codec)
    # Ahead of the markers' times, which are the broker's, else no segment would end at a record.
    writer.now_ms = time.time_ns() // 1_000_000 + 10_000
    open_one = writer.transactions()
    writer.last_values()
    wait_until(lambda: _is_clean(data_dir), "a topic without anything to clean")
    _stop_cleaning(bootstrap, data_dir)
    yield
    open_one.abort_transaction(_TIMEOUT_S)


def _is_clean(data_dir: Path) -> bool:
    """Whether the cleaner has been at all of the compacted topic but for its active segment, and
    has nothing left to do there."""
    names = [path.name for path in (data_dir / f"{COMPACTED_TOPIC}-0").iterdir()]
    active = max(int(name.partition(".")[0]) for name in names if name.endswith(".log"))
    path = data_dir / "cleaner-offset-checkpoint"
    lines = path.read_text().splitlines() if path.exists() else []
    is_there = f"{COMPACTED_TOPIC} 0 {active}" in lines
    return is_there and not any(name.endswith(_PASSING) for name in names)


def _stop_cleaning(bootstrap: str, data_dir: Path) -> None:
    """Who reads the topic and then copies it is to find the same both times."""
    settings = {"cleanup.policy": "delete", "retention.ms": "-1"}
    resource = ConfigResource(
        ResourceType.TOPIC,
        COMPACTED_TOPIC,
        incremental_configs=[
            ConfigEntry(name, text, incremental_operation=AlterConfigOpType.SET)
            for name, text in settings.items()
        ],
    )
    admin = AdminClient({"bootstrap.servers": bootstrap})
    [altered] = admin.incremental_alter_configs([resource]).values()
    altered.result(_TIMEOUT_S)


class _Writer:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.now_ms = _FIRST_MS

    def _time(self) -> int:
        """Time goes on by more than a segment lasts with every few records."""
        self.now_ms += _STEP_MS // 5
        return self.now_ms

    def _producer(self, **settings: str) -> Producer:
        named = {name.replace("_", "."): text for name, text in settings.items()}
        return Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 20, **named})

    def every_kind(self, codec: str) -> None:
        """Sixty records: without key, value or both, long ones, with headers of all sorts."""
        producer = self._producer(compression_type=codec)
        for number in range(60):
            producer.produce(
                CODEC_TOPIC,
                partition=number % 2,
                key=None if number % 3 == 0 else f"{codec}-{number}" * (number % 4),
                value=None if number % 7 == 0 else bytes(range(256)) * (number % 5) + b"end" * 50,
                headers=[(f"h{one}", b"x" * one if one % 2 else None) for one in range(number % 4)],
                timestamp=self._time(),
            )
            if number % 20 == 19:
                assert producer.flush(_TIMEOUT_S) == 0

    def transactions(self) -> Producer:
        """Two producers in turn, each of whose transactions overlaps the other's. The last is open:
        its producer is given back."""
        producers = [self._producer(transactional_id=f"corpus-{number}") for number in range(2)]
        for one in producers:
            one.init_transactions(_TIMEOUT_S)
            one.begin_transaction()
        for turn in range(12):
            one = producers[turn % 2]
            self._few(one, f"turn {turn}")
            self._few(producers[(turn + 1) % 2], f"beside {turn}")
            if turn % 3:
                one.abort_transaction(_TIMEOUT_S)
            else:
                one.commit_transaction(_TIMEOUT_S)
            one.begin_transaction()
            plain = self._producer()
            self._few(plain, f"plain {turn}")
        producers[0].abort_transaction(_TIMEOUT_S)
        self._few(producers[1], "open")
        plain = self._producer()
        self._few(plain, "behind it")
        return producers[1]

    def _few(self, producer: Producer, text: str) -> None:
        for number in range(4):
            producer.produce(TRANSACTION_TOPIC, key=str(number), value=text, timestamp=self._time())
        assert producer.flush(_TIMEOUT_S) == 0

    def last_values(self) -> None:
        """A few keys again and again, some of them deleted; one round was aborted."""
        producer = self._producer(transactional_id="corpus-values", compression_type="lz4")
        producer.init_transactions(_TIMEOUT_S)
        for turn in range(12):
            producer.begin_transaction()
            for key in range(6):
                value = None if key == turn % 6 else f"{key} of {turn} " * 20
                producer.produce(COMPACTED_TOPIC, f"{value}", str(key), timestamp=self._time())
                if value is None:
                    producer.produce(COMPACTED_TOPIC, None, f"gone {key}", timestamp=self._time())
            assert producer.flush(_TIMEOUT_S) == 0
            if turn == 5:
                producer.abort_transaction(_TIMEOUT_S)
            else:
                producer.commit_transaction(_TIMEOUT_S)
