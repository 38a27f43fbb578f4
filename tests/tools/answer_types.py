"""Types for the console's JavaScript, made from the dataclasses that its endpoints answer with.

    python -m tests.tools.answer_types            writes console/types/answers.d.ts
    python -m tests.tools.answer_types --check    says whether it is up to date

Each dataclass becomes an interface; three tables have the answer of each path. `{}` stands for a
parameter of a path, as in the page's own `path("/api/topics/{}", name)`.
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
from console.endpoints import Download, DownloadStream, Endpoint
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
    """The interfaces in TypeScript that the answers need, by name."""

    def __init__(self) -> None:
        self._kinds: dict[str, type] = {}
        self.interfaces: dict[str, str] = {}

    def type_of(self, kind: Any) -> str:
        """Return the name of a type in TypeScript. Raises TypeError if JSON has no form of it."""
        if kind in _PLAIN:
            return _PLAIN[kind]
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            return " | ".join(dict.fromkeys(map(self.type_of, arguments)))
        if origin is Literal:
            return " | ".join(f'"{word}"' for word in arguments)
        if origin is tuple:
            return f"[{', '.join(map(self.type_of, arguments))}]"
        if origin is not None and issubclass(origin, Mapping):
            return f"Record<string, {self.type_of(arguments[1])}>"
        if origin is not None and issubclass(origin, Sequence):
            item = self.type_of(arguments[0])
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
        first_kind = self._kinds.setdefault(name, kind)
        if first_kind is not kind:
            raise TypeError(f"{name} is in {first_kind.__module__} and in {kind.__module__}")
        if name not in self.interfaces:
            self.interfaces[name] = ""  # ends the recursion of a dataclass that holds itself
            hints = get_type_hints(kind)
            lines = [self._field(*names, hints[names[0]]) for names in names_of(kind)]
            body = "".join(f"    {line}\n" for line in lines)
            self.interfaces[name] = f"{comment(kind)}  interface {name} {{\n{body}  }}\n"
        return name

    def _field(self, name: str, json_name: str, hint: Any) -> str:
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        present = [part for part in parts if part is not Absent]
        mark = "?" if len(present) < len(parts) else ""
        shown = json_name if json_name.isidentifier() else f'"{json_name}"'
        types = " | ".join(dict.fromkeys(map(self.type_of, present)))
        return f"{shown}{mark}: {types};"


def comment(kind: type) -> str:
    """Return the docstring of a class as a comment."""
    words = " ".join((getdoc(kind) or "").split())
    lines, last_line = [], "  /**"
    for word in f"{words} */".split():
        if len(last_line) + 1 + len(word) > COLUMNS:
            lines.append(last_line)
            last_line = "   *"
        last_line += f" {word}"
    return "".join(f"{line}\n" for line in (*lines, last_line))


def answer_of(endpoint: Endpoint) -> Any:
    """Return the type of what a path answers, or of each of its events but the heartbeats."""
    if endpoint.answer is not None:
        return get_type_hints(endpoint.answer)["return"]
    (events,) = get_args(get_type_hints(endpoint.events)["return"])
    parts = get_args(events) if get_origin(events) in (Union, UnionType) else (events,)
    return Union[tuple(part for part in parts if part is not NoneType)]  # noqa: UP007


def paths(types: AnswerTypes, endpoints: Iterator[Endpoint]) -> str:
    """Return the lines of a table: each path of these endpoints with the type of its answer."""
    answers = {
        re.sub(r"\{\w+\}", "{}", endpoint.path): types.type_of(answer_of(endpoint))
        for endpoint in endpoints
        if answer_of(endpoint) not in (Download, DownloadStream)
    }
    return "".join(f'    "{path}": {answers[path]};\n' for path in sorted(answers))


def written() -> str:
    """Return the text of the whole file."""
    types = AnswerTypes()
    tables = {
        "Gets": paths(
            types, (endpoint for endpoint in ENDPOINTS if endpoint.answer and not endpoint.writes)
        ),
        "Posts": paths(types, (endpoint for endpoint in ENDPOINTS if endpoint.writes)),
        "Streams": paths(types, (endpoint for endpoint in ENDPOINTS if endpoint.events)),
    }
    parts = [types.interfaces[name] for name in sorted(types.interfaces)]
    parts += [f"  interface {name} {{\n{lines}  }}\n" for name, lines in tables.items()]
    body = "\n".join(parts)
    return f"{HEAD}\ndeclare namespace Answer {{\n{body}}}\n"


def main() -> int:
    """Write the file; with `--check`, compare it and return 1 if it is stale."""
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
