"""JSON files of the repository with one case a line, so that a diff shows the cases that changed.

A case longer than the limit has a line for each of its members, and so on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LINE_MAX = 5_000
"""The longest line in characters; most cases have fewer than a tenth of them."""


def write_json(
    path: Path, cases: Any, *, sort_keys: bool = False, line_max: int = LINE_MAX
) -> None:
    """Write a dictionary or list of cases; characters that cannot be printed are escaped."""
    plain = json.loads(json.dumps(cases, sort_keys=sort_keys))
    path.write_text("\n".join(_lines(plain, line_max, spread=True)) + "\n", "utf-8")


def _compact(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)


def _lines(value: Any, line_max: int, *, spread: bool = False) -> list[str]:
    compact = _compact(value)
    if not value or not isinstance(value, dict | list) or not (spread or len(compact) > line_max):
        return [compact]
    if isinstance(value, dict):
        members = [(f"{_compact(name)}:", member) for name, member in value.items()]
    else:
        members = [("", member) for member in value]
    lines = [compact[0]]
    for name, member in members:
        first, *rest = _lines(member, line_max)
        lines += [f" {name}{first}", *(f" {line}" for line in rest)]
        lines[-1] += ","
    lines[-1] = lines[-1].removesuffix(",")
    return [*lines, compact[-1]]
