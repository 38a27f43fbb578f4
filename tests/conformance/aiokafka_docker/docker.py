"""A stand-in for the `docker` package, with which aiokafka's tests run against any broker.

aiokafka's `tests/conftest.py` starts its broker as a container. With this folder on PYTHONPATH and
`--docker-image any/kafka:2.8.1` its "container" is a process: the command in BROKER_COMMAND, in
which `{port}`, `{partitions}` and `{folder}` (a fresh one) are filled in. What would run inside of
the container (ACLs, Kerberos, SCRAM users) does nothing: those tests need a broker with security.
Used outside of this project's own tests; standard library only.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from types import SimpleNamespace
from typing import Any


class Container:
    """One broker process and its folder."""

    def __init__(self, environment: dict[str, Any]) -> None:
        self._folder = tempfile.mkdtemp(prefix="aiokafka-tests-")
        command = os.environ["BROKER_COMMAND"].format(
            port=environment["ADVERTISED_PORT"],
            partitions=environment["NUM_PARTITIONS"],
            folder=self._folder,
        )
        self._process = subprocess.Popen(shlex.split(command))

    def exec_run(self, *_: object, **__: object) -> tuple[int, bytes]:
        return 0, b""

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class Client:
    """`docker.from_env()`."""

    def __init__(self) -> None:
        self.containers = self
        self.images = self

    def run(self, image: str, environment: dict[str, Any] | None = None, **_: object) -> Container:
        return Container(environment or {})

    def pull(self, image: str) -> None:
        pass

    def close(self) -> None:
        pass


def from_env() -> Client:
    return Client()


models = SimpleNamespace(containers=SimpleNamespace(Container=Container))
