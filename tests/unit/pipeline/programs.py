"""Programs that stand in for Java and Maven: a few lines of shell in a folder of the test."""

from __future__ import annotations

from pathlib import Path


def program(folder: Path, name: str, text: str) -> Path:
    """Write `folder/name`, which runs `text`."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file
