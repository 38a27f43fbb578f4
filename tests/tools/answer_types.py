"""Types for the console's JavaScript, made from the dataclasses that its endpoints answer with.

    python -m tests.tools.answer_types            writes console/types/answers.d.ts
    python -m tests.tools.answer_types --check    says whether it is up to date

Each dataclass becomes an interface; each path is told what it answers. `{}` stands for a parameter
of a path, as in the page's own `path("/api/topics/{}", name)`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from inspect import getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from console.answers import Absent, names_of
from console.endpoints import Download, Endpoint
from console.views import ENDPOINTS

TYPES = Path(__file__).parents[2] / "console" / "types" / "answers.d.ts"
COLUMNS = 100
HEAD = """// Written by tests/tools/answer_types.py from the dataclasses of the console's endpoints.
// Change those, and write it anew by `python -m tests.tools.answer_types`.
"""
_PLAIN: dict[Any, str] = {
    str: "string",
    bool: "boolean",
    NoneType: "null",
    None: "null",
    Any: "any",
}


class AnswerTypes:
    """The interfaces that are needed, by name."""

    def __init__(self) -> None:
        self._kinds: dict[str, type] = {}
        self.interfaces: dict[str, str] = {}

    def type_of(self, kind: Any) -> str:
        """Return what TypeScript calls a type. Raises TypeError for one that has no JSON."""
        if kind in _PLAIN:
            return _PLAIN[kind]
        origin, words = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            return " | ".join(dict.fromkeys(map(self.type_of, words)))
        if origin is Literal:
            return " | ".join(f'"{word}"' for word in words)
        if origin is tuple:
            return f"[{', '.join(map(self.type_of, words))}]"
        if origin is not None and issubclass(origin, Mapping):
            return f"Record<string, {self.type_of(words[1])}>"
        if origin is not None and issubclass(origin, Sequence):
            item = self.type_of(words[0])
            return f"({item})[]" if " | " in item else f"{item}[]"
        if isinstance(kind, type) and issubclass(kind, (int, float)):
            return "number"
        if kind is object:
            return "unknown"
        if is_dataclass(kind) and isinstance(kind, type):
            return self._interface(kind)
        raise TypeError(f"{kind} has no JSON")

    def _interface(self, kind: type) -> str:
        name = kind.__name__
        known = self._kinds.setdefault(name, kind)
        if known is not kind:
            raise TypeError(f"{name} is in {known.__module__} and in {kind.__module__}")
        if name not in self.interfaces:
            self.interfaces[name] = ""  # one that holds itself ends here
            hints = get_type_hints(kind)
            lines = [self._field(*names, hints[names[0]]) for names in names_of(kind)]
            body = "".join(f"    {line}\n" for line in lines)
            self.interfaces[name] = f"{comment(kind)}  interface {name} {{\n{body}  }}\n"
        return name

    def _field(self, name: str, json_name: str, hint: Any) -> str:
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        there = [one for one in parts if one is not Absent]
        mark = "?" if len(there) < len(parts) else ""
        shown = json_name if json_name.isidentifier() else f'"{json_name}"'
        said = " | ".join(dict.fromkeys(map(self.type_of, there)))
        return f"{shown}{mark}: {said};"


def comment(kind: type) -> str:
    """Return the docstring of a class as a comment."""
    words = " ".join((getdoc(kind) or "").split())
    lines, line = [], "  /**"
    for word in f"{words} */".split():
        if len(line) + 1 + len(word) > COLUMNS:
            lines.append(line)
            line = "   *"
        line += f" {word}"
    return "".join(f"{one}\n" for one in (*lines, line))


def answer_of(endpoint: Endpoint) -> Any:
    """Return the type of what a path answers, or of each of its events but the heartbeats."""
    if endpoint.answer is not None:
        return get_type_hints(endpoint.answer)["return"]
    (events,) = get_args(get_type_hints(endpoint.events)["return"])
    parts = get_args(events) if get_origin(events) in (Union, UnionType) else (events,)
    return Union[tuple(one for one in parts if one is not NoneType)]  # noqa: UP007


def paths(types: AnswerTypes, endpoints: Iterator[Endpoint]) -> str:
    """Return the lines that say what each of these answers."""
    found = {
        re.sub(r"\{\w+\}", "{}", one.path): types.type_of(answer_of(one))
        for one in endpoints
        if answer_of(one) is not Download
    }
    return "".join(f'    "{path}": {found[path]};\n' for path in sorted(found))


def written() -> str:
    """Return the whole file."""
    types = AnswerTypes()
    tables = {
        "Gets": paths(types, (one for one in ENDPOINTS if one.answer and not one.writes)),
        "Posts": paths(types, (one for one in ENDPOINTS if one.writes)),
        "Streams": paths(types, (one for one in ENDPOINTS if one.events)),
    }
    parts = [types.interfaces[name] for name in sorted(types.interfaces)]
    parts += [f"  interface {name} {{\n{lines}  }}\n" for name, lines in tables.items()]
    body = "\n".join(parts)
    return f"{HEAD}\ndeclare namespace Answer {{\n{body}}}\n"


def main() -> int:
    """Write the file, or compare it."""
    text = written()
    if "--check" not in sys.argv:
        TYPES.parent.mkdir(exist_ok=True)
        TYPES.write_text(text)
        return 0
    if TYPES.exists() and TYPES.read_text() == text:
        return 0
    print(f"{TYPES.name} is stale: python -m tests.tools.answer_types")
    return 1


if __name__ == "__main__":
    sys.exit(main())
