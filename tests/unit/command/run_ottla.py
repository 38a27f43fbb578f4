"""Runs `ottla` in this process, on a cluster of a script."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from command.cli import run_cli

LIBRDKAFKA_LINE = re.compile(r"^%\d\|.*\n", re.MULTILINE)
"""A line of the log of librdkafka: a client of another test may still have a thread that writes."""

Done = tuple[int, str, str]
Ottla = Callable[..., Done]


def ottla_on(
    cluster: Any,
    modules: list[ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Ottla:
    """A function that runs a command: its exit code, standard output and error."""
    for module in modules:
        monkeypatch.setattr(module, "ClusterClient", lambda *_: cluster)

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        code = run_cli(arguments)
        out, error = capfd.readouterr()
        return code, out, LIBRDKAFKA_LINE.sub("", error)

    return run
