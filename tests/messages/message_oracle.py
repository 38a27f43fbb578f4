"""Kafka's own message classes in a process: `tests/java/src/MessageOracle.java`.

Owns that process. An exception of Kafka's classes becomes an `OracleRefusal`.
"""

from __future__ import annotations

import json
import subprocess
from types import TracebackType
from typing import Any

from tests.tools.java_tools import java_command, program_classpath
from tests.tools.waiting import LIMIT_S


class OracleRefusal(Exception):
    """An exception of Kafka's classes, with its text."""


class MessageOracle:
    """A JVM for a whole run; a call takes a fraction of a millisecond."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            java_command("MessageOracle", classpath=program_classpath()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def version_range(self, message: str) -> tuple[int, int]:
        """Return the lowest and highest version of Kafka's class."""
        answer = self._ask({"message": message})
        return answer["lowest"], answer["highest"]

    def encode(self, message: str, version: int, values: dict[str, Any]) -> bytes:
        """Return Kafka's bytes for `values`, which have the form of its JsonConverter."""
        answer = self._ask({"message": message, "version": version, "json": values})
        return bytes.fromhex(answer["hex"])

    def decode(self, message: str, version: int, data: bytes) -> dict[str, Any]:
        """Return the values that Kafka reads from `data`, without tagged fields of default value.

        Asserts that Kafka reads all bytes.
        """
        answer = self._ask({"message": message, "version": version, "hex": data.hex()})
        assert answer["remaining"] == 0, f"Kafka left {answer['remaining']} bytes unread"
        values: dict[str, Any] = answer["json"]
        return values

    def defaults(self, message: str, version: int) -> dict[str, Any]:
        """Return the values of a new instance, without tagged fields."""
        values: dict[str, Any] = self._ask({"message": message, "version": version})["json"]
        return values

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the oracle's JVM ended"
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise OracleRefusal(answer["error"])
        return answer

    def close(self) -> None:
        """End the JVM and wait for its exit."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(LIMIT_S)
        self._process.stdout.close()

    def __enter__(self) -> MessageOracle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
