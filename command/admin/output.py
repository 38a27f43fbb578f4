"""Where commands print: tables with headings that stand out in a terminal, plain in a pipe.

click leaves the colours out where nobody sees them, and with NO_COLOR (`command.cli`). Owns
nothing; what is printed is made elsewhere (`client.tables`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from client.tables import Cell, table


def show(headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, as_json: bool) -> None:
    """Print the rows as a table, or an object a line."""
    lines = table(headings, rows, as_json=as_json)
    if lines and not as_json:
        click.echo(click.style(lines.pop(0), bold=True))
    if lines:
        click.echo("\n".join(lines))


def done(text: str, found: Mapping[str, Cell], *, as_json: bool) -> None:
    """Say what was done; with --json it is an object on standard output instead."""
    if as_json:
        show(list(found), [list(found.values())], as_json=True)
    else:
        note(text)


def note(text: str) -> None:
    """Say something beside what was asked: on standard error, so that a pipe does not get it."""
    click.echo(f"ottla: {text}", err=True)
