"""A server of Spark Connect on this machine, out of PySpark itself, as `docs/pipeline.md` says.

Owns the process. It listens on 127.0.0.1, on a port that is free.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from tests.tools.ports import Ports

START_S = 120
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class ConnectServer:
    """`with ConnectServer(folder, jars, settings) as server: server.remote`."""

    def __init__(self, folder: Path, jars: Sequence[str], settings: Mapping[str, str]) -> None:
        spec = find_spec("pyspark")
        assert spec is not None and spec.origin is not None
        self._home = Path(spec.origin).parent
        self._folder = folder
        self._held = Ports()
        self._port = self._held.take()
        self._settings = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.driver.extraJavaOptions": _SMALL,
            "spark.driver.memory": "1g",
            "spark.jars": ",".join(jars),
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            **settings,
        }
        self.remote = f"sc://127.0.0.1:{self._port}"

    def __enter__(self) -> ConnectServer:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._log = self._folder / "connect.log"
        words = (word for pair in self._settings.items() for word in ("--conf", "=".join(pair)))
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(
                [
                    *(str(self._home / "bin" / "spark-submit"), "--class", _SERVER),
                    *("--master", "local[2]", *words, "spark-internal"),
                ],
                env={
                    **os.environ,
                    "SPARK_HOME": str(self._home),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "PYSPARK_PYTHON": sys.executable,
                },
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_S
        while not self._answers():
            said = self._log.read_text(errors="replace")[-2000:]
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._stop()
                raise AssertionError(f"no server of Spark Connect: {said}")
            time.sleep(0.1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        return True

    def _stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(90)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._held.close()
