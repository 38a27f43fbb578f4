"""Where commands print: the only place that writes text to a terminal.

What is printed may come from outside: names that clients gave, errors of brokers, keys of a file.
So every text is made printable here, and gets its colours after that. click leaves the colours out
where nobody sees them, and with NO_COLOR (`command.cli`). Owns nothing; what is printed is made
elsewhere (`client.tables`). Records have a way of their own (`client.records.rendering`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

from client.tables import Cell, table
from ground.printable import in_ascii_json, printable_json, printable_lines

_CLEAR = "\x1b[H\x1b[2J"
_THIS_LINE_ANEW = "\r\x1b[K"


class Styled(NamedTuple):
    """A text in colour, or in bold."""

    text: str
    colour: str | None = None
    bold: bool = True


def echo(*parts: str | Styled, to_stderr: bool = False, in_place: bool = False) -> None:
    """Print the parts as one text, which may have several lines, and end the line.

    `in_place` prints over what the terminal's line has, and does not end it.
    """
    text = "".join(map(_harmless, parts))
    click.echo(_THIS_LINE_ANEW + text if in_place else text, err=to_stderr, nl=not in_place)


def echo_json(value: object) -> None:
    """Print a value as JSON, in one line."""
    _echo_json(printable_json(value))


def clear() -> None:
    """Clear the terminal's screen."""
    click.echo(_CLEAR, nl=False)


def redraw(lines: Sequence[str | Styled], rows_above: int) -> None:
    """Print lines in place of what the last so many rows of the terminal have."""
    up = f"\x1b[{rows_above}F\x1b[J" if rows_above else ""
    click.echo(up + "\n".join(map(_harmless, lines)))


def show(headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, as_json: bool) -> None:
    """Print the rows as a table, or an object a line."""
    lines = table(headings, rows, as_json=as_json)
    if as_json and lines:
        _echo_json("\n".join(lines))
    elif lines:
        echo_lines(lines)


def echo_lines(lines: Sequence[str], colour: str | None = None) -> None:
    """Print lines, of which the first stands out."""
    heading, *others = lines
    echo(Styled(heading, colour))
    if others:
        echo("\n".join(others))


def done(text: str, values: Mapping[str, Cell], *, as_json: bool) -> None:
    """Say what was done; with --json it is an object on standard output instead."""
    if as_json:
        show(list(values), [list(values.values())], as_json=True)
    else:
        note(text)


def note(text: str) -> None:
    """Say something beside what was asked: on standard error, so that a pipe does not get it."""
    echo(f"ottla: {text}", to_stderr=True)


def _echo_json(text: str) -> None:
    """Print lines of JSON, with JSON's own escapes for what the output's encoding does not have."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")  # a text buffer has none
    except UnicodeEncodeError:
        text = in_ascii_json(text)
    click.echo(text)


def _harmless(part: str | Styled) -> str:
    if isinstance(part, str):
        return printable_lines(part)
    return click.style(printable_lines(part.text), fg=part.colour, bold=part.bold)
