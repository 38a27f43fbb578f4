"""A tab in a shell, as a person has it: names that a stranger's client chose, in a pseudo-terminal.

Whatever a name has in it, it is completed to itself or not at all, and the ENTER after it runs
`ottla` with that name and nothing else.
"""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from broker.network.readiness import readable
from ottla.launcher import ottla_command
from tests.compat.ottla_command import Ottla

DEADLINE_S = 60
COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
BEGINS = {
    "bash": 'eval "$(ottla completion bash)"',
    "zsh": 'autoload -Uz compinit; compinit -u -D; eval "$(ottla completion zsh)"',
    "fish": "ottla completion fish | source",
}
SCRIPT = """#!/bin/sh
if [ -n "$_OTTLA_COMPLETE" ] || [ "$1" = completion ]; then exec {ottla} "$@"; fi
for word; do printf '%s\\0' "$word"; done > {words}.new
mv {words}.new {words}
"""


class Terminal:
    """A shell with `ottla` on its path, which completes, and else writes down its words."""

    def __init__(self, kind: str, folder: Path, broker: str) -> None:
        self._words = folder / "words"
        (folder / "bin").mkdir()
        command = folder / "bin" / "ottla"
        command.write_text(
            SCRIPT.format(ottla=shlex.join(ottla_command()), words=shlex.quote(str(self._words)))
        )
        command.chmod(0o755)
        env = {
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "OTTLA_BOOTSTRAP_SERVERS": broker,
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
            "HISTFILE": "/dev/null",
        }
        self._pid, self._end = pty.fork()
        if not self._pid:
            os.execvpe(COMMANDS[kind][0], COMMANDS[kind], env)
        self.shown = b""
        self.type(f'{BEGINS[kind]}; echo is re""ady\n')
        self._read_until(lambda: b"is ready" in self.shown)

    def type(self, keys: str) -> None:
        os.write(self._end, keys.encode())

    def words_of(self, keys: str) -> list[str]:
        """Type `keys`, and return the words that `ottla` is given."""
        self._words.unlink(missing_ok=True)
        self.type(f"ottla {keys}\n")
        self._read_until(self._words.exists)
        return self._words.read_text().split("\0")[:-1]

    def _read_until(self, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not is_done():
            assert time.monotonic() < deadline, self.shown[-500:]
            if readable([self._end], 0.05):
                self.shown += os.read(self._end, 65536)

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._end)


@pytest.fixture
def begin(broker: str, tmp_path: Path) -> str:
    """With what these groups begin: a name that runs `touch` wherever a shell reads it, one of
    which bash replaces a part, and two that have their danger in common."""
    begin, mark = f"g{uuid.uuid4().hex[:8]}", tmp_path / "ran"
    ottla = Ottla(broker)
    ottla("topic", "create", begin)
    ottla("produce", begin, data=b"1\n")
    for name in names(begin, mark):
        ottla("consume", begin, "--group", name, "--commit")
    return begin


def names(begin: str, mark: Path) -> tuple[str, str, str, str]:
    run = f"touch {mark}"
    return (
        f"{begin}a$({run})`{run}`;{run};'$({run})'\"$({run})`{run}`\"!x\\*~ #&",
        f"{begin}b:eq=ual,com ma",
        f"{begin}c$({run})1",
        f"{begin}c$({run})2",
    )


@pytest.fixture
def terminal(
    request: pytest.FixtureRequest, broker: str, begin: str, tmp_path: Path
) -> Iterator[Terminal]:
    kind: str = request.param
    if kind != "bash" and shutil.which(kind) is None:
        pytest.skip(f"{kind} is not installed")
    with closing(Terminal(kind, tmp_path, broker)) as terminal:
        yield terminal


@pytest.mark.parametrize("terminal", COMMANDS, indirect=True)
def test_a_name_is_completed_to_itself_and_nothing_in_it_runs(
    terminal: Terminal, begin: str, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    wild, parted, *_ = names(begin, mark)
    for quote in ("", "'", '"'):
        words = terminal.words_of(f"group describe {quote}{begin}a\t")
        assert words == ["group", "describe", wild]
        words = terminal.words_of(f"group describe {quote}{begin}b:eq=\t")
        assert words == ["group", "describe", parted]
    assert terminal.words_of(f"consume t --group={begin}b\t") == [
        "consume",
        "t",
        f"--group={parted}",
    ]
    assert not mark.exists()


@pytest.mark.parametrize("terminal", ["bash"], indirect=True)
def test_what_two_names_have_in_common_does_not_run(
    terminal: Terminal, begin: str, tmp_path: Path
) -> None:
    """Bash puts it on the line; the rest is typed, and completed."""
    *_, one, two = names(begin, tmp_path / "ran")
    for quote in ("", "'", '"'):
        half = f"group describe {quote}{begin}c\t"
        assert terminal.words_of(f"{half}{quote}") == ["group", "describe", one[:-1]]
        assert terminal.words_of(f"{half}2\t") == ["group", "describe", two]
    assert not (tmp_path / "ran").exists()
