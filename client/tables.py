"""Tables that commands print: aligned columns for people, one JSON object a line for programs.

    PRINCIPAL   OPERATION
    User:alice  READ

With --json each row is one line: an object whose names are the headings in lower case. Sizes are
numbers there, and texts such as `1.2 MB` in columns; an unknown value is null, and `-` in columns.
Pure text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ground.printable import printable, printable_json

GAP = "  "
UNKNOWN = "-"
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_STEP = 1000


class ByteCount(int):
    """A number of bytes, which columns show as `1.2 MB`."""


Cell = str | int | float | None


def size_text(count: float) -> str:
    """Return a size as text, such as `1.2 MB`, in units of powers of 1000."""
    unit = 0
    while count >= _STEP and unit < len(_UNITS) - 1:
        count /= _STEP
        unit += 1
    return f"{count:.1f} {_UNITS[unit]}" if unit else f"{count:.0f} B"


def counted(number: int, noun: str) -> str:
    """Return text such as `1 topic` or `2 topics`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def aligned(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Return the lines of rows with aligned columns; columns without any text are left out."""
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    widths = [max(map(len, column)) for column in columns]
    return [
        (indent + GAP.join(map(str.ljust, row, widths))).rstrip()
        for row in zip(*columns, strict=True)
    ]


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, as_json: bool) -> list[str]:
    """Return the lines of a table: the headings and aligned rows, or with `as_json` a JSON object
    for each row. Without rows there are no lines, not even headings."""
    if as_json:
        return list(_objects(headings, rows))
    if not rows:
        return []
    texts = [[printable(_cell_text(cell)) for cell in row] for row in rows]
    return aligned([[heading.upper() for heading in headings], *texts])


def _cell_text(cell: Cell) -> str:
    """Return a cell as columns show it: `-` for None, `1.2 MB` for a ByteCount."""
    if cell is None:
        return UNKNOWN
    if isinstance(cell, ByteCount):
        return size_text(cell)
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell)


def _objects(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield each row as a JSON object with the headings as names."""
    for row in rows:
        yield printable_json(dict(zip(headings, row, strict=True)))
