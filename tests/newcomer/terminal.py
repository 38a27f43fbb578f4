"""A terminal of an account: a real bash in a pseudo-terminal, into which commands are pasted.

Owns the process of the shell. The shell's prompt carries the exit code of the command before it,
so that the end of each command is seen, however long it takes.
"""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pexpect

PROMPT = re.compile(r"(?:\([^)\n]*\) )?<paste (\d+)> ")
"""With the name of the environment in front, once one is activated."""
STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_QUIET = (
    "bind 'set enable-bracketed-paste off'; stty -echo; PS2=; PROMPT_COMMAND=; PS1='<paste $?> '"
)
COLUMNS = 400
END_S = 120.0


class Terminal:
    """A pseudo-terminal with a bash, which runs the pasted commands one after the other."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        """Start the shell in `folder`."""
        self._log = io.StringIO()
        self._shell = pexpect.spawn(
            command[0],
            command[1:],
            env=environment,  # type: ignore[arg-type]
            cwd=str(folder),
            encoding="utf-8",
            codec_errors="replace",
            dimensions=(60, COLUMNS),
            echo=False,
            timeout=END_S,
        )
        self._shell.delaybeforesend = None
        self._shell.logfile_read = self._log
        self._shell.sendline(_QUIET)
        self._shell.expect("<paste 0> ")
        self.is_busy = False

    @property
    def printed(self) -> str:
        """All that this terminal has shown, as plain text."""
        return _plain(self._log.getvalue())

    def run(self, command: str, timeout: float = END_S) -> tuple[str, int]:
        """Paste a command, wait for its end, and return what it printed and its exit code."""
        assert not self.is_busy, f"a command runs in this terminal: {command}"
        self._shell.sendline(command)
        return self._ended(timeout)

    def start(self, command: str) -> None:
        """Paste a command that is to run on."""
        assert not self.is_busy, f"a command runs in this terminal: {command}"
        self.is_busy = True
        self._shell.sendline(command)

    def wait_for(self, line: re.Pattern[str], timeout: float) -> re.Match[str] | None:
        """Return the match of the next line that matches; None if the command ends, or too late."""
        try:
            styled = f"{line.pattern}(?:{STYLE.pattern})*(?=\r?\n)"
            if self._shell.expect([styled, PROMPT], timeout=timeout) == 0:
                return self._shell.match
        except pexpect.TIMEOUT:
            return None
        self.is_busy = False
        return None

    def interrupt(self) -> int | None:
        """Press Ctrl-C where a command runs, wait for its end, and return its exit code."""
        if not self.is_busy:
            return None
        self._shell.sendintr()
        return self._ended(END_S)[1]

    def close(self) -> None:
        """End the shell, and what runs in it."""
        self.interrupt()
        self._shell.sendline("exit")
        deadline = time.monotonic() + END_S
        while self._shell.isalive() and time.monotonic() < deadline:
            time.sleep(0.02)
        self._shell.close(force=True)

    def _ended(self, timeout: float) -> tuple[str, int]:
        self._shell.expect(PROMPT, timeout=timeout)
        self.is_busy = False
        printed = self._shell.before or ""
        assert self._shell.match is not None
        return _plain(printed), int(self._shell.match[1])


def _plain(text: str) -> str:
    return STYLE.sub("", text).replace("\r", "")
