"""Kafka Streams counts words once while everything dies: `python -m tests.chaos.word_count`.

`tests/java/src/WordCount.java` with processing.guarantee=exactly_once_v2 on three nodes. Every node
is killed in turn and the application three times, each in the midst of a portion of its input. The
target has to tell of each word 1, 2, 3 … up to how often it stands in the source, in this order:
a number that is missing, there twice or out of its place is a record counted never, twice or late.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.chaos.cluster_view import ClusterView
from tests.chaos.exactly_once import NODES, PARTITIONS, PATIENCE_S, PROPERTIES
from tests.tools.cluster_processes import KAFKA, OTTLA, ClusterProcesses
from tests.tools.java_tools import java_command, program_classpath

WORDS = 97
WORDS_A_LINE = 2
QUIET = {"error_cb": lambda _: None, "log_level": 0}


def line(number: int) -> list[str]:
    """The words of a record."""
    return [f"w{(number * 7 + place * 13) % WORDS}" for place in range(WORDS_A_LINE)]


class CountWatch:
    """Reads the target's committed records in a thread, and notes what does not follow."""

    def __init__(self, servers: str, topic: str) -> None:
        self.counts: dict[str, int] = defaultdict(int)
        self.wrong: list[str] = []
        self.read = 0
        self._config = {
            "bootstrap.servers": servers,
            "group.id": "nobody",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            **QUIET,
        }
        self._places = [TopicPartition(topic, part, 0) for part in range(PARTITIONS)]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        consumer = Consumer(self._config)
        consumer.assign(self._places)
        while not self._stopping.is_set():
            for message in consumer.consume(500, 0.1):
                if message.error() is None:
                    self._take((message.key() or b"").decode(), int(message.value() or b"0"))
        consumer.close()

    def _take(self, word: str, count: int) -> None:
        if count != self.counts[word] + 1:
            self.wrong.append(f"{word}: {count} after {self.counts[word]}")
        self.counts[word] = count
        self.read += 1

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(30)


class WordCountRun:
    """A run on a cluster that serves."""

    def __init__(self, cluster: ClusterProcesses, folder: Path, records: int) -> None:
        self._cluster = cluster
        self._records = records
        self._source, self._target = "lines", "word-counts"
        self._log_file = folder / "word-count.log"
        self._command = java_command(
            "WordCount",
            *(cluster.bootstrap, "word-count", self._source, self._target, str(folder / "state")),
            classpath=program_classpath(),
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._lives = 0

    def run(self) -> dict[str, Any]:
        """Everything; `wrong` is what does not follow, `missing` what was never counted."""
        began = time.monotonic()
        view = ClusterView(self._cluster)
        for topic in (self._source, self._target):
            view.create_topic(topic, PARTITIONS, NODES)
        self._start()
        watch = CountWatch(self._cluster.bootstrap, self._target)
        try:
            fed = self._through_all_deaths(view, watch)
            self._feed(fed, self._records)
            self._wait(watch, self._records)
            self._feed(self._records, self._records + WORDS)  # behind it all: nothing came twice
            self._wait(watch, self._records + WORDS)
        finally:
            self._kill()
            watch.stop()
        expected = Counter(w for n in range(self._records + WORDS) for w in line(n))
        return {
            "records": self._records,
            "lives": self._lives,
            "missing": sum(max(0, expected[w] - watch.counts[w]) for w in expected),
            "wrong": len(watch.wrong),
            "examples": watch.wrong[:8],
            "seconds": round(time.monotonic() - began, 1),
        }

    def _through_all_deaths(self, view: ClusterView, watch: CountWatch) -> int:
        keys = {f"{self._target}-{part}": NODES for part in range(PARTITIONS)}
        portions = 2 * NODES + 1
        fed = 0
        for node in range(1, NODES + 1):
            fed = self._feed_portion(watch, fed, portions)
            self._cluster.kill(node)
            fed = self._feed_portion(watch, fed, portions)
            self._cluster.start_node(node)
            view.full_isr(keys)
            self._kill()
            self._start()
        return fed

    def _feed_portion(self, watch: CountWatch, fed: int, portions: int) -> int:
        """One more portion, a part of which has been counted when this returns."""
        end = fed + self._records // portions
        self._feed(fed, end)
        self._wait(watch, fed + (end - fed) // 5)
        return end

    def _start(self) -> None:
        with open(self._log_file, "ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._lives += 1

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _feed(self, begin: int, end: int) -> None:
        failed: list[object] = []
        producer = Producer(
            {
                "bootstrap.servers": self._cluster.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                **QUIET,
            }
        )
        for number in range(begin, end):
            producer.produce(
                self._source,
                " ".join(line(number)).encode(),
                partition=number % PARTITIONS,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            producer.poll(0)
        assert producer.flush(60) == 0 and not failed, failed[:3]

    def _wait(self, watch: CountWatch, records: int) -> None:
        last, since = watch.read, time.monotonic()
        while watch.read < records * WORDS_A_LINE:
            assert self._process is not None and self._process.poll() is None, self._told()
            if watch.read != last:
                last, since = watch.read, time.monotonic()
            assert time.monotonic() - since < PATIENCE_S, (
                f"{watch.read} counts of {records} records and no more: {self._told()}"
            )
            time.sleep(0.02)

    def _told(self) -> str:
        return self._log_file.read_text("utf-8", "replace")[-3000:]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.word_count", description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--peer", choices=(OTTLA, KAFKA), default=OTTLA)
    parser.add_argument("--json", type=Path, default=None, help="write the result there")
    parser.add_argument("--keep", type=Path, default=None, help="logs and data stay there")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="word-count-"))
    if options.keep is not None:
        folder = options.keep
        folder.mkdir(parents=True)
    with ClusterProcesses(
        NODES, peer=options.peer, properties=PROPERTIES, folder=options.keep
    ) as cluster:
        result = WordCountRun(cluster, folder, options.records).run()
    text = json.dumps({"peer": options.peer, "date": time.strftime("%Y-%m-%d"), **result}, indent=1)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")
    return 1 if result["wrong"] or result["missing"] else 0


if __name__ == "__main__":
    sys.exit(main())
