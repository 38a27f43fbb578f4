"""The Java client's transactions (protocol version 2) behind the face of the Python clients.

`JavaTransactions` is one JVM with `tests/java/src/TransactionalClient.java` in it; the producers
it opens are `TransactionalProducer`s of `tests/clients/transactional_faces.py`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from itertools import count
from types import TracebackType

from tests.clients.transactional_faces import Failed, Fenced, TopicReader
from tests.tools.java_tools import java_command, program_classpath


class JavaTransactions:
    """One JVM; it ends with the `with` block."""

    def __init__(self) -> None:
        self._names = count(1)
        self._process = subprocess.Popen(
            java_command("TransactionalClient", classpath=program_classpath()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def ask(self, *words: object) -> str:
        """What it says to one line. Raises Failed or Fenced."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        answer, _, rest = self._process.stdout.readline().strip().partition(" ")
        if answer == "ok":
            return rest
        raise (Fenced if answer == "fenced" else Failed)(rest)

    def open(self, servers: str, transactional_id: str, timeout_ms: int) -> JavaProducer:
        """A producer that has its epoch."""
        name = f"p{next(self._names)}"
        self.ask("open", name, servers, transactional_id, timeout_ms)
        return JavaProducer(self, name)

    def read(self, servers: str, topic: str, isolation: str, last: bytes) -> list[bytes]:
        """All values of partition 0 before `last`, which must come."""
        return self.ask("read", servers, topic, isolation, last.decode()).encode().split()

    def __enter__(self) -> JavaTransactions:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


class JavaProducer:
    """A `TransactionalProducer`; its offsets are those of a group without members."""

    def __init__(self, java: JavaTransactions, name: str) -> None:
        self._java, self._name = java, name

    def begin(self) -> None:
        self._java.ask("begin", self._name)

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._java.ask("send", self._name, topic, partition, value.decode())

    def flush(self) -> None:
        self._java.ask("flush", self._name)

    def offsets(self, reader: TopicReader, topic: str, offsets: Mapping[int, int]) -> None:
        for partition, offset in offsets.items():
            self._java.ask("offsets", self._name, reader.mark(), topic, partition, offset)

    def commit(self) -> None:
        self._java.ask("commit", self._name)

    def abort(self) -> None:
        self._java.ask("abort", self._name)

    def close(self) -> None:
        self._java.ask("close", self._name)
