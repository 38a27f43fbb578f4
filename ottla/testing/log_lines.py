"""The end of a log file, which is shown with a test that failed."""

from __future__ import annotations

from pathlib import Path

SHOWN_LINES = 200


def last_lines(file: Path, offset: int = 0) -> str:
    """Return the last lines of a file from `offset` on; an empty text if there is no such file."""
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            text = stream.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-SHOWN_LINES:])
