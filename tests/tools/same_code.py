"""Whether a change of words left the code alone: `python -m tests.tools.same_code OLD NEW`.

Each Python file that differs between two commits is compiled without its docstrings and
annotations. Its bytecode must be equal; names may differ, as long as each name of a function
stands for one name of the other commit. A string that is a name (in `__slots__`, for `getattr`)
may change only as that name changed. Prints the renamed names; the exit code is 1, with a line a
place, where more than words changed.

What is left to mypy and the tests: that a name was changed at all of its places.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from types import CodeType

Renames = Counter[tuple[str, str]]


class Changed(Exception):
    """A place where more than words changed."""


class _Bare(ast.NodeTransformer):
    """A tree without docstrings, and without the names in annotations."""

    def _body(self, node: ast.AST) -> ast.AST:
        body = node.body  # type: ignore[attr-defined]
        first = body[0] if body else None
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            node.body = body[1:] or [ast.copy_location(ast.Pass(), first)]  # type: ignore[attr-defined]
        return self.generic_visit(node)

    visit_Module = visit_ClassDef = visit_Expression = _body

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._body(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self._body(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        for part in ast.walk(node.annotation):
            if isinstance(part, ast.Name):
                part.id = "_"
            elif isinstance(part, ast.Attribute):
                part.attr = "_"
        return self.generic_visit(node)


def compare(old: str, new: str) -> Renames:
    """Return the names that differ between two texts of a module. Raises Changed."""
    renames: Renames = Counter()
    _compare_code(_compiled(old), _compiled(new), renames)
    return renames


def _compiled(text: str) -> CodeType:
    tree = _Bare().visit(ast.parse(text))
    return compile(ast.fix_missing_locations(tree), "module", "exec", dont_inherit=True)


def _compare_code(old: CodeType, new: CodeType, renames: Renames) -> None:
    place = f"{new.co_qualname} (line {new.co_firstlineno})"
    if old.co_code != new.co_code or old.co_exceptiontable != new.co_exceptiontable:
        raise Changed(f"{place}: other instructions")
    signatures = [(c.co_argcount, c.co_kwonlyargcount, c.co_flags) for c in (old, new)]
    if signatures[0] != signatures[1]:
        raise Changed(f"{place}: another signature")
    for kind in ("co_names", "co_varnames", "co_freevars", "co_cellvars"):
        pairs = list(zip(getattr(old, kind), getattr(new, kind), strict=False))
        if len(getattr(old, kind)) != len(getattr(new, kind)):
            raise Changed(f"{place}: more or fewer names")
        renames.update(pair for pair in pairs if pair[0] != pair[1])
    if old.co_name != new.co_name:
        renames[old.co_name, new.co_name] += 1
    if len(old.co_consts) != len(new.co_consts):
        raise Changed(f"{place}: other constants")
    for before, after in zip(old.co_consts, new.co_consts, strict=True):
        _compare_constant(before, after, renames, place)


def _compare_constant(before: object, after: object, renames: Renames, place: str) -> None:
    if isinstance(before, CodeType) and isinstance(after, CodeType):
        _compare_code(before, after, renames)
    elif isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for part_before, part_after in zip(before, after, strict=True):
            _compare_constant(part_before, part_after, renames, place)
    elif type(before) is not type(after) or repr(before) != repr(after):
        parts = _name_parts(before), _name_parts(after)
        if None in parts or len(parts[0] or ()) != len(parts[1] or ()):
            raise Changed(f"{place}: {before!r} became {after!r}")
        for pair in zip(parts[0] or (), parts[1] or (), strict=True):
            if pair[0] != pair[1] and pair not in renames:
                renames[pair] += 0  # judged at the end: its other place may come later


def _name_parts(value: object) -> list[str] | None:
    """The names of a text such as `_offset` or `Class.method`; None if it is no name."""
    if not isinstance(value, str):
        return None
    parts = value.split(".")
    return parts if all(part.isidentifier() or part == "<locals>" for part in parts) else None


def changed_files(old: str, new: str) -> Iterator[tuple[str, str]]:
    """The Python files that differ: their paths in both commits."""
    listed = _git("diff", "--name-status", "-M", old, new, "--", "*.py")
    for line in listed.splitlines():
        status, *paths = line.split("\t")
        if status == "M" or status.startswith("R"):
            yield paths[0], paths[-1]
        else:
            raise Changed(f"{paths[-1]}: a file that is there in one commit only")


def _git(*words: str) -> str:
    return subprocess.run(("git", *words), check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.same_code", description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    options = parser.parse_args()
    renames: Renames = Counter()
    changed = 0
    try:
        files = list(changed_files(options.old, options.new))
    except Changed as error:
        print(error, file=sys.stderr)
        return 1
    for before, after in files:
        texts = [_git("show", f"{options.old}:{before}"), _git("show", f"{options.new}:{after}")]
        try:
            renames.update(compare(*texts))
        except Changed as error:
            changed += 1
            print(f"{after}: {error}", file=sys.stderr)
    unheard = [pair for pair, count in renames.items() if not count]
    for before, after in unheard:
        changed += 1
        print(f"the text {before!r} became {after!r}, and no name did", file=sys.stderr)
    for (before, after), count in sorted(renames.items()):
        if count:
            print(f"{before} → {after}: {count}")
    print(f"{len(files)} files, {changed} with more than other words")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
