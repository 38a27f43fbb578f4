"""What is shown of a log: its end, from where a test began."""

from __future__ import annotations

from pathlib import Path

from ottla.testing.log_lines import SHOWN_LINES, last_lines


def test_the_end_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "log"
    assert last_lines(file) == ""
    lines = [f"line {number}" for number in range(SHOWN_LINES + 10)]
    file.write_text("\n".join(lines))
    assert last_lines(file).splitlines() == lines[10:]
    offset = file.stat().st_size
    with file.open("ab") as stream:
        stream.write(b"\nnew \xff\n")
    assert last_lines(file, offset) == "\nnew \N{REPLACEMENT CHARACTER}"
