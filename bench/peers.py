"""The brokers that are measured: processes that this harness starts on fresh data, and stops.

A peer tells its address, its CPU time and its memory, read from /proc. Linux only.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tests.apache_kafka import ApacheKafka, answers_api_versions, free_port

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Peer(Protocol):
    """A running broker."""

    name: str
    port: int
    pid: int
    start_s: float
    """From the command to its first answer; its storage formatted on the way."""

    def resident_mib(self) -> float: ...
    def stop(self) -> None: ...


class OttlaPeer:
    """`ottla serve` from this checkout, on an empty folder."""

    name = "ottla"

    def __init__(self) -> None:
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="ottla-bench-"))
        began = time.monotonic()
        with open(self._folder / "broker.log", "wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "broker",
                    "serve",
                    "--override",
                    f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{free_port()}",
                    "--override",
                    f"log.dirs={self._folder / 'data'}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.pid = self._process.pid
        while not answers_api_versions(self.port):
            if self._process.poll() is not None:
                log_text = (self._folder / "broker.log").read_text()
                raise RuntimeError(f"ottla ended at start:\n{log_text}")
            time.sleep(0.005)
        self.start_s = time.monotonic() - began

    def resident_mib(self) -> float:
        return resident_mib(self.pid)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class KafkaPeer:
    """Apache Kafka 4.3.0 with the JVM options and the heap of its own start script."""

    name = "kafka"

    def __init__(self) -> None:
        began = time.monotonic()
        self._kafka = ApacheKafka().start()
        self.start_s = time.monotonic() - began
        self.port = self._kafka.port
        self.pid = self._kafka.pid

    def resident_mib(self) -> float:
        return resident_mib(self.pid)

    def stop(self) -> None:
        self._kafka.stop()


PEERS: dict[str, Callable[[], Peer]] = {"ottla": OttlaPeer, "kafka": KafkaPeer}


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads, so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def resident_mib(pid: int) -> float:
    """Resident memory, MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} tells no VmRSS")
