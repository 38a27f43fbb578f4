"""The core of a connection by transcripts: `testdata/*.txt` hold commands and what it did.

A line is a command (`conversation` lists them), the state behind it, and what is done, in its
order. A paragraph is one connection. Lines that begin with `#` say what it shows. `python -m
tests.unit.broker.network.server.test_connection_state --rewrite` writes what happens now; commit
only changes that you understand.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from broker.network.server import connection_state
from broker.network.server.connection_state import TRANSITIONS, ConnectionEvent, ConnectionState
from tests.unit.broker.network.server.conversation import Conversation

TRANSCRIPTS = sorted((Path(__file__).parent / "testdata").glob("*.txt"))
COMMAND_COLUMNS, STATE_COLUMNS, EFFECT_COLUMNS = 28, 16, 56


def replayed(text: str) -> str:
    """The transcript with what happens now in place of what is expected."""
    connection, lines = Conversation(), list[str]()
    for line in text.splitlines():
        if not line:
            connection = Conversation()
        if not line or line.startswith("#"):
            lines.append(line)
        elif not line.startswith(" "):
            command = line.split("  ")[0]
            lines += written(command, *connection.run(command))
    return "\n".join(lines) + "\n"


def written(command: str, state: str, effects: list[str]) -> list[str]:
    """The lines of one command: what is too long for its column goes on below."""
    done = textwrap.wrap(", ".join(effects), EFFECT_COLUMNS) or [""]
    too_long = len(command) > COMMAND_COLUMNS - 2
    start = "" if too_long else command
    lines = [f"{start:{COMMAND_COLUMNS}}{state:{STATE_COLUMNS}}{done[0]}".rstrip()]
    lines += [" " * (COMMAND_COLUMNS + STATE_COLUMNS) + more for more in done[1:]]
    return [command, *lines] if too_long else lines


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    text = path.read_text()
    assert replayed(text) == text


class NotedRow(dict[ConnectionEvent, ConnectionState]):
    """A state's row of the table, that notes which of its transitions are taken."""

    def __init__(
        self, state: ConnectionState, taken: set[tuple[ConnectionState, ConnectionEvent]]
    ) -> None:
        super().__init__(TRANSITIONS[state])
        self._state, self._taken = state, taken

    def __getitem__(self, event: ConnectionEvent) -> ConnectionState:
        self._taken.add((self._state, event))
        return super().__getitem__(event)

    def get(self, event: ConnectionEvent, _default: Any = None) -> Any:
        if event not in self:
            return None
        return self[event]


def test_every_transition_is_taken_in_a_transcript(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: set[tuple[ConnectionState, ConnectionEvent]] = set()
    noted = {state: NotedRow(state, taken) for state in ConnectionState}
    monkeypatch.setattr(connection_state, "TRANSITIONS", noted)
    monkeypatch.setattr(connection_state, "_FROM_READY", noted[ConnectionState.READY])
    for path in TRANSCRIPTS:
        replayed(path.read_text())
    assert taken == {(state, event) for state, row in TRANSITIONS.items() for event in row}
    assert {event for _, event in taken} == {*ConnectionEvent}


if __name__ == "__main__":
    if sys.argv[1:] != ["--rewrite"]:
        sys.exit("python -m tests.unit.broker.network.server.test_connection_state --rewrite")
    for transcript in TRANSCRIPTS:
        transcript.write_text(replayed(transcript.read_text()))
