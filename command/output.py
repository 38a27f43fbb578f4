"""The output of commands: the only module that writes text to a terminal.

Texts may come from outside: names that clients chose, errors of brokers, keys of a file. So every
text is made printable here, before it gets colours. click omits colours if the output is no
terminal, and with NO_COLOR (`command.cli`). Owns nothing; other modules make the texts
(`client.tables`). Records are written elsewhere (`client.records.rendering`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import click

from client.tables import Cell, table
from ground.printable import in_ascii_json, printable_json, printable_lines

_OVERWRITE_LINE = "\r\x1b[K"


class ReaderGone(Exception):
    """The program that read standard output through a pipe has ended, as `head` does."""


class Styled(NamedTuple):
    """A text with a colour, in bold by default."""

    text: str
    colour: str | None = None
    bold: bool = True


def echo(*parts: str | Styled, to_stderr: bool = False, in_place: bool = False) -> None:
    """Print the parts as one text, which may have several lines, and a newline, on standard output.
    `to_stderr`: on standard error instead.

    `in_place`: overwrite the terminal's current line, and print no newline. Raises ReaderGone;
    texts on standard error that have no reader are dropped.
    """
    text = "".join(map(_harmless, parts))
    text = _OVERWRITE_LINE + text if in_place else text
    if not to_stderr:
        _print(text, newline=not in_place)
        return
    with suppress(BrokenPipeError):
        click.echo(text, err=True, nl=not in_place)


def echo_json(value: object) -> None:
    """Print a value as JSON, in one line."""
    _echo_json(printable_json(value))


def redraw(lines: Sequence[str | Styled], rows_above: int) -> None:
    """Print lines in place of the last `rows_above` rows of the terminal."""
    up = f"\x1b[{rows_above}F\x1b[J" if rows_above else ""
    _print(up + "\n".join(map(_harmless, lines)))


def show(headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, as_json: bool) -> None:
    """Print the rows as a table, or with `as_json` as a JSON object a line. Without rows print
    nothing, not even headings."""
    lines = table(headings, rows, as_json=as_json)
    if as_json and lines:
        _echo_json("\n".join(lines))
    elif lines:
        echo_lines(lines)


def echo_lines(lines: Sequence[str], colour: str | None = None) -> None:
    """Print lines, at least one, the first in bold and in `colour`."""
    heading, *others = lines
    echo(Styled(heading, colour))
    if others:
        echo("\n".join(others))


def done(text: str, values: Mapping[str, Cell], *, as_json: bool) -> None:
    """Print `text`, the report of finished work, on standard error. With --json, print `values` as
    an object on standard output instead."""
    if as_json:
        show(list(values), [list(values.values())], as_json=True)
    else:
        note(text)


def note(text: str) -> None:
    """Print a remark on standard error, after `ottla: `, so that a pipe does not get it."""
    echo(f"ottla: {text}", to_stderr=True)


def _echo_json(text: str) -> None:
    """Print lines of JSON; characters that the output's encoding lacks become JSON escapes."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")  # a text buffer has none
    except UnicodeEncodeError:
        text = in_ascii_json(text)
    _print(text)


def _print(text: str, *, newline: bool = True) -> None:
    """Print a text on standard output. Raises ReaderGone."""
    try:
        click.echo(text, nl=newline)
    except BrokenPipeError as error:
        raise ReaderGone from error


def _harmless(part: str | Styled) -> str:
    """Return the part with its control characters made visible, then coloured if it is Styled."""
    if isinstance(part, str):
        return printable_lines(part)
    return click.style(printable_lines(part.text), fg=part.colour, bold=part.bold)
