"""The plan fits the pages, and a terminal tells what a command prints and how it ends."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.newcomer.plan import pages
from tests.newcomer.terminal import Terminal

PAGES = {"README.md", *(f"docs/{name}.md" for name in ("first-minute", "command-line"))}
PAGES |= {
    f"docs/{name}.md" for name in ("how-it-works", "security", "operations", "groups", "queues")
}


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm"}
    opened = Terminal(["bash", "--norc", "--noprofile", "-i"], environment, tmp_path)
    yield opened
    opened.close()


def test_the_plan_fits_the_pages() -> None:
    planned = {page.name: page for page in pages()}
    assert planned.keys() == {*PAGES, "docs/testing.md"}
    assert all(page.blocks() for page in planned.values())


def test_a_command_tells_its_output_and_its_exit_code(terminal: Terminal) -> None:
    assert terminal.run("printf 'one\\ntwo'") == ("one\ntwo", 0)
    assert terminal.run("(exit 3)") == ("", 3)
    assert terminal.run('PS1="(v) $PS1"; echo \\\n  three') == ("three\n", 0)


def test_a_command_runs_on_until_it_is_interrupted(terminal: Terminal) -> None:
    # In the foreground before it prints: Ctrl-C ends it at any time after its line.
    terminal.start("sh -c \"printf '\\033[31mready\\033[0m\\n'; exec sleep 600\"")
    assert terminal.wait_for(re.compile("r(?P<rest>.*)y"), 60)["rest"] == "ead"  # type: ignore[index]
    assert terminal.is_busy and terminal.interrupt() == 130
    assert "ready\n" in terminal.printed
    terminal.start("true")
    assert terminal.wait_for(re.compile("never"), 60) is None and not terminal.is_busy
