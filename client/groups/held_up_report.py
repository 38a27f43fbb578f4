"""The part of `ottla status --groups` about share groups: its lines, and its JSON. Pure text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from client.tables import counted
from ground.printable import printable

_INDENT = "  "
LINES_MAX = 20


class HeldUp(NamedTuple):
    """A share group, and what holds it up."""

    group: str
    trouble: str


class ShareGroups(NamedTuple):
    """The number of share groups, the number of those whose details were asked for, and their
    troubles."""

    total: int
    asked: int
    held_up: Sequence[HeldUp]


GroupStatus = ShareGroups | str
"""The share groups of a cluster, or why they are not known."""


def group_lines(status: GroupStatus) -> list[str]:
    """Return the lines about the share groups; a long list ends with the number of lines left
    out."""
    if isinstance(status, str):
        return [f"share groups: not known ({status})"]
    names = dict.fromkeys(held_up.group for held_up in status.held_up)
    asked = "" if status.asked == status.total else f", {status.asked} of them looked at"
    lines = [f"{counted(status.total, 'share group')}{asked}, {len(names)} held up"]
    lines += [
        f"{_INDENT}{printable(held_up.group)}: {printable(held_up.trouble)}"
        for held_up in status.held_up[:LINES_MAX]
    ]
    if len(status.held_up) > LINES_MAX:
        lines.append(f"{_INDENT}… and {len(status.held_up) - LINES_MAX} more (--json has all)")
    return lines


def groups_as_object(status: GroupStatus) -> dict[str, object]:
    """Return the object that `ottla status --groups --json` has under `share_groups`."""
    if isinstance(status, str):
        return {"error": status}
    return {
        "total": status.total,
        "asked": status.asked,
        "held_up": [held_up._asdict() for held_up in status.held_up],
    }
