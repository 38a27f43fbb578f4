"""The end of a log file, which is shown with a test that failed."""

from __future__ import annotations

from pathlib import Path

SHOWN_LINES = 200


def last_lines(file: Path, offset: int = 0) -> str:
    """Return the last 200 lines of a file, decoded as UTF-8; an empty text if there is no such
    file. `offset` is the number of bytes to skip at the start."""
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            text = stream.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-SHOWN_LINES:])
