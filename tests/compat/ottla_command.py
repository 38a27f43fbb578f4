"""Runs `ottla` as a process, on the broker of these tests."""

from __future__ import annotations

import json
import os
import subprocess

from ottla.launcher import ottla_command

WITHIN_S = 60


class Ottla:
    """Runs commands against a cluster."""

    def __init__(self, broker: str) -> None:
        self.env = {**os.environ, "OTTLA_BOOTSTRAP_SERVERS": broker}
        self.said = ""
        """What the last one said on standard error."""

    def __call__(self, *words: str, data: bytes = b"", code: int = 0) -> bytes:
        """Standard output of a command that has to end with this exit code."""
        done = subprocess.run(
            ottla_command(*words), input=data, capture_output=True, env=self.env, timeout=WITHIN_S
        )
        self.said = done.stderr.decode()
        assert done.returncode == code, self.said
        return done.stdout

    def objects(self, *words: str) -> list[dict[str, object]]:
        """What it prints with --json."""
        return [json.loads(line) for line in self(*words, "--json").splitlines()]
