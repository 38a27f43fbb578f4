"""What the program knows of a page beside its blocks: `pages.toml`, checked against the page.

An aside is what the prose of a page asks for, with the words that do; they must stand in the page.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLAN = Path(__file__).with_name("pages.toml")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Aside:
    """Commands that a page's prose asks for, before the block that has the text `before`."""

    says: str
    commands: tuple[str, ...]
    before: str = ""
    """Empty: at the end of the page."""
    terminal: str = ""
    """Empty: the broker's terminal for what starts a broker, else the other terminal."""


@dataclass(frozen=True)
class Explained:
    """A difference between page and terminal that is meant to be, by a word of the command."""

    command: str
    why: str


@dataclass(frozen=True)
class Printed:
    """Lines that the prose says an example prints; `of` is a text of the example."""

    of: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A page's blocks, and what its prose says to do beside them."""

    name: str
    text: str
    setup: tuple[str, ...] = ()
    """Commands of the README, or of another page, that come before this page."""
    folder: str = "clone"
    """Where its terminals start: `clone`, or `empty`."""
    varies: dict[str, str] = field(default_factory=dict)
    """Values that differ on each machine: as shown, and a pattern of what is printed instead. The
    first printed value then takes the shown one's place in all that follows."""
    changes: dict[str, str] = field(default_factory=dict)
    """Text that differs each time: as shown, and a pattern of what is printed instead."""
    waits: tuple[str, ...] = ()
    """Nodes that serve only with others, by a text of their command: their start is not awaited."""
    asides: tuple[Aside, ...] = ()
    printed: tuple[Printed, ...] = ()
    explained: tuple[Explained, ...] = ()

    def blocks(self) -> list[Block]:
        """Return the fenced blocks in their order, with the lines where they begin."""
        return [
            Block(kind, text.group(2), self.text.count("\n", 0, text.start()) + 2)
            for text in _BLOCK.finditer(self.text)
            for kind in [text.group(1)]
        ]


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `line` is the number of its first line within the page."""

    kind: str
    text: str
    line: int


def pages() -> list[Page]:
    """Return all pages of the plan. AssertionError where the plan does not fit a page."""
    planned = tomllib.loads(PLAN.read_text())
    return [_page(name, dict(keys)) for name, keys in planned.items()]


def _page(name: str, keys: dict[str, Any]) -> Page:
    text = (ROOT / name).read_text()
    asides = tuple(Aside(**{**a, "commands": tuple(a["commands"])}) for a in keys.pop("asides", []))
    explained = tuple(Explained(**row) for row in keys.pop("explained", []))
    printed = tuple(Printed(p["of"], tuple(p["lines"])) for p in keys.pop("printed", []))
    keys |= {name: tuple(keys.get(name, ())) for name in ("setup", "waits")}
    parts = {"asides": asides, "printed": printed, "explained": explained}
    page = Page(name, text, **parts, **keys)
    plain = " ".join(text.split())
    for row in printed:
        missing = [line for line in row.lines if f"`{line}`" not in plain]
        assert not missing, f"{name} does not say: {missing}"
    for aside in asides:
        assert " ".join(aside.says.split()) in plain, f"{name} does not say: {aside.says}"
        blocks = [block for block in page.blocks() if aside.before in block.text]
        assert blocks, f"{name} has no block with: {aside.before}"
    for difference in explained:
        assert difference.command in text, f"{name} has no command with: {difference.command}"
    return page
