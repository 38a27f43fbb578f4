"""Records a data folder of Apache Kafka, copied while its broker ran, and what consumers were
given of it: `python -m tests.golden.folder_record`.

`apache-kafka/data_folder.tar.gz` has the topics of `tests/compat/folder_corpus.py`: five codecs,
nulls, headers, transactions that were committed, aborted and left open, a compacted topic.
`rows.json` in it has the rows that confluent-kafka was given, by isolation level.
"""

from __future__ import annotations

import io
import json
import tarfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from tests.compat.folder_corpus import PROPERTIES, TOPICS, filled, make_topics
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START

ARCHIVE = Path(__file__).parent / "apache-kafka" / "data_folder.tar.gz"
ROWS = "rows.json"
_CHECKPOINTS = (
    "meta.properties",
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
)
_QUIET_S = 3


def main() -> None:
    small = {**PROPERTIES, "log.index.size.max.bytes": "4096"}  # else 10 MiB of room in each
    with ApacheKafka(jvm_options=FAST_START, heap="256m", properties=small) as kafka:
        make_topics(kafka.bootstrap)
        with filled(kafka.bootstrap, kafka.data_dir):
            levels = ("read_committed", "read_uncommitted")
            rows = {level: consumed(kafka.bootstrap, level) for level in levels}
            pack(kafka.data_dir, rows)
        print({level: len(found) for level, found in rows.items()}, ARCHIVE.stat().st_size)


def consumed(bootstrap: str, level: str) -> list[list[Any]]:
    """Topic, partition, offset, key, value, time in ms, its type, headers; bytes as hex."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "records",
            "isolation.level": level,
            "enable.auto.commit": False,
        }
    )
    places = [(topic, one) for topic in TOPICS for one in range(2 if topic == TOPICS[0] else 1)]
    consumer.assign([TopicPartition(topic, one, 0) for topic, one in places])
    found: list[list[Any]] = []
    deadline = time.monotonic() + _QUIET_S
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            found.append(row_of(message))
            deadline = time.monotonic() + _QUIET_S
    consumer.close()
    return sorted(found, key=lambda row: row[:3])


def row_of(message: Message) -> list[Any]:
    kind, time_ms = message.timestamp()
    return [
        *(message.topic(), message.partition(), message.offset()),
        *(text(message.key()), text(message.value()), time_ms, kind - 1),
        [[key, text(value)] for key, value in message.headers() or []],
    ]


def text(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def pack(data_dir: Path, rows: dict[str, list[list[Any]]]) -> None:
    """The topics' folders and the checkpoints, as they are at this moment."""
    with tarfile.open(ARCHIVE, "w:gz") as archive:
        for path in sorted(data_dir.iterdir()):
            if path.name in _CHECKPOINTS or path.name.rpartition("-")[0] in TOPICS:
                archive.add(path, path.name)
        content = json.dumps(rows).encode()
        entry = tarfile.TarInfo(ROWS)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    main()
