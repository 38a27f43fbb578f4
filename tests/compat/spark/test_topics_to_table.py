"""The job that docker-compose.yml starts, as it starts it, but for the jars: those are here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.tools.java_tools import PROJECT_DIR
from tests.tools.waiting import wait_until

JOB = PROJECT_DIR / "pipeline" / "topics_to_table.py"
SERVICE: dict[str, Any] = yaml.safe_load((PROJECT_DIR / "docker-compose.yml").read_text())[
    "services"
]["spark"]
WITHIN_S = 240


def command() -> list[str]:
    """Of the service."""
    from pipeline.spark.jars import jar_settings
    from pipeline.tables.delta_table import PACKAGES

    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    changed = {
        "/opt/spark/bin/spark-submit": str(Path(spec.origin).parent / "bin" / "spark-submit"),
        "--packages": f"--jars={jar_settings(PACKAGES)['spark.jars']}",
        "/opt/jobs/topics_to_table.py": str(JOB),
    }
    given = [changed.get(word.partition("=")[0], word) for word in SERVICE["command"]]
    small = ("--driver-java-options=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",)
    return [given[0], *small, *given[1:]]


def produce(broker: str, topic: str, *values: bytes | None) -> None:
    admin = AdminClient({"bootstrap.servers": broker})
    if topic not in admin.list_topics(timeout=60).topics:
        (made,) = admin.create_topics([NewTopic(topic, 2, 1)]).values()
        made.result(60)
    producer = Producer({"bootstrap.servers": broker})
    for number, value in enumerate(values):
        producer.produce(topic, value, "key", partition=number % 2)
    assert producer.flush(60) == 0


def found(table: Path) -> list[tuple[str, int, int, str, str | None]]:
    """What a reader without Java sees."""
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(str(table)):
        return []
    rows = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    names = ("topic", "partition", "offset", "key", "value")
    return sorted(tuple(row[name] for name in names) for row in rows)


def wait(process: subprocess.Popen[bytes], holds: Callable[[], bool]) -> None:
    def holds_in_time() -> bool:
        assert process.poll() is None
        return holds()

    wait_until(holds_in_time, "rows of the job", limit_s=WITHIN_S, pause_s=0.1)


@pytest.mark.spark
@pytest.mark.timeout(400)
def test_records_of_all_topics_become_rows_once_after_a_kill_too(
    broker: str, tmp_path: Path
) -> None:
    word = tmp_path.name.replace("_", "-")
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith("PYSPARK")},
        "BOOTSTRAP_SERVERS": broker,
        "TOPICS": f"{word}.*",
        "TABLE": str(tmp_path / "table"),
        "CHECKPOINT": str(tmp_path / "checkpoint"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    assert set(environment) >= set(SERVICE["environment"])
    first, second = f"{word}-1", f"{word}-2"
    produce(broker, first, b"a", b"b", None)
    log = tmp_path / "log"

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as out:
            return subprocess.Popen(
                command(),
                env=environment,
                cwd=tmp_path,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    process = start()
    try:
        wanted = [(first, 0, 0, "key", "a"), (first, 0, 1, "key", None), (first, 1, 0, "key", "b")]
        wait(process, lambda: found(tmp_path / "table") == wanted)
        # Its row is there; its checkpoint may not have that yet.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process = start()
        # A topic that comes later, and more of the first.
        produce(broker, second, b"\xff")
        produce(broker, first, b"c")
        wanted = sorted([*wanted, (first, 0, 2, "key", "c"), (second, 0, 0, "key", "\ufffd")])
        wait(process, lambda: found(tmp_path / "table") == wanted)
        wait(process, lambda: "records into" in log.read_text(errors="replace"))
    except AssertionError as error:
        raise AssertionError(log.read_text(errors="replace")[-3000:]) from error
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_missing_setting_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, str(JOB)],
        env={"PATH": os.environ["PATH"], "TOPICS": "t", "CHECKPOINT": "c"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == "topics_to_table: set BOOTSTRAP_SERVERS, TABLE in the environment\n"
