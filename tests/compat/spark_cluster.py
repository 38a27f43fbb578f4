"""A standalone cluster of Spark on this machine: a master and two workers, from PySpark's own jars.

Owns both processes and their folder. Everything listens on 127.0.0.1, on ports that are free.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from pipeline.spark.jars import jar_settings
from pipeline.tables.delta_table import PACKAGES
from tests.tools.java_tools import PROJECT_DIR
from tests.tools.ports import Ports

START_S = 120
WORKERS = 2
JOB_S = 400
_SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def _small() -> str:
    """What the JVMs are told beside the drivers, which know of the archive by themselves."""
    return f"{_SMALL} {os.environ.get('SPARK_SUBMIT_OPTS', '')}"


class SparkCluster:
    """`with SparkCluster(folder) as cluster: cluster.submit(["load", …], ["audit", …])`."""

    def __init__(self, folder: Path) -> None:
        spec = find_spec("pyspark")  # found, not imported: spark-submit is a program of its own
        assert spec is not None and spec.origin is not None
        self._home = Path(spec.origin).parent
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._held = Ports()
        self.master = f"spark://127.0.0.1:{self._held.take()}"
        self._environment = {
            **{name: text for name, text in os.environ.items() if name != "PYSPARK_GATEWAY_PORT"},
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_PUBLIC_DNS": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(folder / "scratch"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{_small()} -Dspark.master.rest.enabled=false",
            # Else executors take the python3 of the PATH, which has no confluent-kafka.
            "PYSPARK_PYTHON": sys.executable,
        }

    def __enter__(self) -> SparkCluster:
        (self._folder / "scratch").mkdir(parents=True)
        port = self.master.rpartition(":")[2]
        try:
            self._await(self._start("master.Master", "--port", port), "New state: ALIVE")
            workers = [
                self._start(
                    *("worker.Worker", "--cores", "1", "--memory", "1g"),
                    *("--work-dir", str(self._folder / f"work-{number}"), self.master),
                )
                for number in range(WORKERS)
            ]
            for log in workers:
                self._await(log, "Successfully registered with master")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def submit(self, *runs: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """These command lines of jobs, by one spark-submit; the driver runs here."""
        packed = self._folder / "pipeline.zip"
        if not packed.exists():
            with zipfile.ZipFile(packed, "w") as archive:
                for package in ("log_format", "pipeline"):
                    for file in sorted((PROJECT_DIR / package).rglob("*.py")):
                        archive.write(file, file.relative_to(PROJECT_DIR))
        told = self._folder / "runs.json"
        told.write_text(json.dumps(runs))
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": _SMALL,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.extraJavaOptions": _small(),
            "spark.executor.memory": "512m",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
        }
        return subprocess.run(
            [
                *(str(self._home / "bin" / "spark-submit"), "--master", self.master),
                *("--jars", jar_settings(PACKAGES)["spark.jars"], "--py-files", str(packed)),
                *(word for pair in settings.items() for word in ("--conf", "=".join(pair))),
                *(str(PROJECT_DIR / "tests" / "compat" / "submitted_jobs.py"), str(told)),
            ],
            env=self._environment,
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=JOB_S,
        )

    def workers_that_ran(self) -> int:
        """Of how many workers an executor has worked."""
        folders = (self._folder / f"work-{number}" for number in range(WORKERS))
        return sum(any(one.glob("*/*/stderr")) for one in folders)

    def _start(self, what: str, *arguments: str) -> Path:
        log = self._folder / f"{what}-{len(self._processes)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [
                    *(str(self._home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}"),
                    *("--host", "127.0.0.1", "--webui-port", "0", *arguments),
                ],
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self._processes.append(process)
        return log

    def _await(self, log: Path, says: str) -> None:
        deadline = time.monotonic() + START_S
        while says not in log.read_text(errors="replace"):
            alive = all(one.poll() is None for one in self._processes)
            assert alive and time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.1)

    def _stop(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(90)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._held.close()
