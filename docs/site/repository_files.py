"""Which files of the repository have a page on the site, and which one a code span names."""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname

ROOT = Path(__file__).resolve().parents[2]
BYTES_MAX = 150_000
"""What is longer is a download: nobody reads it in a page."""
PATH = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/?")


def is_page(path: str) -> bool:
    """Whether a path from the root, of a file or a folder, has a page of its own."""
    file = ROOT / path
    if path.startswith("..") or path.split("/")[0] in (".git", ".venv", "build"):
        return False
    if file.is_dir():
        return True
    if not file.is_file() or file.stat().st_size > BYTES_MAX:
        return False
    return b"\0" not in file.read_bytes()[:1024]


def located(name: str, folder: str | None, *, short: bool) -> tuple[str | None, str | None]:
    """The file that a code span names, or None, and the folder of the short names behind it."""
    if not PATH.fullmatch(name):
        return None, folder
    if "/" in name and (ROOT / name).exists():
        is_file = (ROOT / name).is_file()
        return (name, dirname(name)) if is_file else (None, name.rstrip("/"))
    if short and folder is not None and name.endswith(".py") and (ROOT / folder / name).is_file():
        return f"{folder}/{name}", folder
    if short and "/" in name and (ROOT / "broker" / f"{name}.py").is_file():
        return f"broker/{name}.py", f"broker/{dirname(name)}"
    return None, folder
