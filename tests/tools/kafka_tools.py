"""Kafka's command-line tools in one JVM that stays: `tests/java/src/ToolRunner.java`.

`tests.tools.java_tools.run_tool` starts a process for each call; here a call takes only the tool's
own time.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from types import TracebackType

from tests.tools.java_tools import FAST_START, TOOLS, java_command, program_classpath

CONSUME_TIMEOUT_MS = "60000"
"""`--timeout-ms` of a console consumer: how long it waits for the next record."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The exit code and the output of a tool."""

    exit: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        """The lines of stdout that are not blank."""
        return [line for line in self.stdout.splitlines() if line.strip()]


class KafkaTools:
    """Kafka's tools by script name, for one broker."""

    def __init__(self, bootstrap: str, jvm: tuple[str, ...] = FAST_START) -> None:
        """Start the JVM with the options `jvm`."""
        self.bootstrap = bootstrap
        self._process = subprocess.Popen(
            java_command("ToolRunner", classpath=program_classpath(), jvm=jvm),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def run(self, tool: str, *args: str, stdin: str = "") -> ToolResult:
        """Run a tool, by its script's name or main class, with exactly `args`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        request = {"tool": TOOLS.get(tool, tool), "args": list(args), "stdin": stdin}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the JVM of the tools ended in {tool} {' '.join(args)}"
        return ToolResult(**json.loads(line))

    def __call__(self, tool: str, *args: str, stdin: str = "") -> ToolResult:
        """Run a tool with `--bootstrap-server`; assert that it succeeds."""
        result = self.run(tool, "--bootstrap-server", self.bootstrap, *args, stdin=stdin)
        assert result.exit == 0, f"{tool} {' '.join(args)}: {result}"
        return result

    def produce(self, topic: str, count: int) -> None:
        """Produce `count` records `k<i>` → `value <i>` by the console producer."""
        lines = "".join(f"k{i}:value {i}\n" for i in range(count))
        self(
            "kafka-console-producer",
            *("--topic", topic),
            *("--reader-property", "parse.key=true", "--reader-property", "key.separator=:"),
            stdin=lines,
        )

    def offsets(self, topic: str, time: str) -> list[int]:
        """Return the offsets that kafka-get-offsets prints for `--time`, in order of partitions."""
        lines = self("kafka-get-offsets", "--topic", topic, "--time", time).lines
        assert all(line.startswith(f"{topic}:") for line in lines)
        offsets = {int(line.split(":")[1]): int(line.split(":")[2]) for line in lines}
        return [offsets[partition] for partition in sorted(offsets)]

    def close(self) -> None:
        """End the JVM after its last tool."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def __enter__(self) -> KafkaTools:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
