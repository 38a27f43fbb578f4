"""A check that a change of words left the code alone: `python -m tests.tools.same_code OLD NEW`.

Each Python file that differs between two commits is compiled without its docstrings, annotations
and imports. Its instructions must be equal; names may differ, as long as each name of a function
stands for one name of the other commit. A string that is a name (in `__slots__`, for `getattr`)
may change only as that name changed. Imports may change their order. Prints the renamed names; the
exit code is 1, with a line for each place, where more than words changed.

Left to mypy and the tests: that a name was changed at all of its places.
"""

from __future__ import annotations

import argparse
import ast
import dis
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from types import CodeType
from typing import NamedTuple

Renames = Counter[tuple[str, str]]

# Their number or their order follows from the number and the order of a function's names.
_SKIPPED = frozenset({"EXTENDED_ARG", "MAKE_CELL", "COPY_FREE_VARS", "NOP"})
_NAMED = frozenset({*dis.hasname, *dis.haslocal, *dis.hasfree})
_JUMPS = frozenset({*dis.hasjrel, *dis.hasjabs})


class Changed(Exception):
    """A place where more than words changed."""


class _Import(NamedTuple):
    """An imported name; `place` counts the functions and classes of the module before it."""

    place: int
    module: str
    name: str
    bound_as: str


class _Bare(ast.NodeTransformer):
    """A tree without docstrings, without the names in annotations, and without its imports."""

    def __init__(self) -> None:
        self.imports: list[_Import] = []
        self._place = 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop a docstring: that of a constant or a field too, which follows it."""
        value = node.value
        is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            bound_as = alias.asname or alias.name.partition(".")[0]
            self.imports.append(_Import(self._place, alias.name, "", bound_as))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        if node.module == "__future__":
            return node
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            bound_as = alias.asname or alias.name
            self.imports.append(_Import(self._place, module, alias.name, bound_as))
        return None

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._definition(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self._definition(node)

    def _definition(self, node: ast.AST) -> ast.AST:
        self._place += 1
        return self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        for part in node.values:
            if isinstance(part, ast.Constant):
                part.value = f"\0{part.value}"  # no name any more: a piece of a text stays as it is
        return self.generic_visit(node)

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


class _Pairs:
    """The names of a function with those that stand for them in the other commit, one to one."""

    def __init__(self, place: str, known_pairs: Mapping[str, str]) -> None:
        self.new_of = dict(known_pairs)
        self._old_of = {new: old for old, new in known_pairs.items()}
        self._place = place

    def add(self, old: str, new: str) -> None:
        """Pair two names. Raises Changed if either already has another partner."""
        pair = self.new_of.setdefault(old, new), self._old_of.setdefault(new, old)
        if pair != (new, old):
            raise Changed(f"{self._place}: {new} stands where {pair[0]} is expected for {old}")

    def add_sets(self, old: Iterable[str], new: Iterable[str]) -> None:
        """Pair the names of two sets, as far as they have no partners yet."""
        unpaired = [name for name in old if name not in self.new_of]
        expected = {self.new_of[name] for name in old if name in self.new_of}
        candidates = [name for name in new if name not in expected]
        if len(unpaired) != len(candidates):
            raise Changed(f"{self._place}: a closure over other variables")
        for name in set(unpaired) & set(candidates):
            self.add(name, name)
        rest = [[n for n in names if n not in self.new_of] for names in (unpaired, candidates)]
        for old_name, new_name in zip(*rest, strict=True):
            self.add(old_name, new_name)


def compare(old: str, new: str, modules: Mapping[str, str] | None = None) -> Renames:
    """Return the names that differ between two texts of a module. Raises Changed.

    `modules` has the new name of each renamed module, for the imports.
    """
    renames: Renames = Counter()
    old_code, old_imports = _compiled(old)
    new_code, new_imports = _compiled(new)
    _compare_code(old_code, new_code, renames, {})
    moved = [i._replace(module=(modules or {}).get(i.module, i.module)) for i in old_imports]
    _compare_imports(Counter(moved), Counter(new_imports), renames)
    return renames


def _compiled(text: str) -> tuple[CodeType, list[_Import]]:
    bare = _Bare()
    tree = ast.fix_missing_locations(bare.visit(ast.parse(text)))
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):  # lines decide where the compiler leaves a NOP
            node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    return compile(tree, "module", "exec", dont_inherit=True), bare.imports


def _compare_imports(old: Counter[_Import], new: Counter[_Import], renames: Renames) -> None:
    gone, added = sorted((old - new).elements()), sorted((new - old).elements())
    for before in list(gone):
        for after in added:
            pair = before.bound_as, after.bound_as
            if before[:2] == after[:2] and (pair[0] == pair[1] or renames[pair]):
                gone.remove(before)
                added.remove(after)
                break
    if [i[:2] for i in gone] != [i[:2] for i in added]:  # those in annotations are left
        raise Changed(f"other imports: {[*gone, *added]}")
    renames.update((i.name, j.name) for i, j in zip(gone, added, strict=True))


def _compare_code(
    old: CodeType, new: CodeType, renames: Renames, known_pairs: Mapping[str, str]
) -> None:
    """Compare two functions; `known_pairs` are the variables of those around them."""
    place = new.co_qualname
    signatures = [
        (c.co_argcount, c.co_kwonlyargcount, c.co_posonlyargcount, c.co_flags) for c in (old, new)
    ]
    if signatures[0] != signatures[1]:
        raise Changed(f"{place}: another signature")
    free = {name: known_pairs[name] for name in old.co_freevars if name in known_pairs}
    variables, globals_, attributes = _Pairs(place, free), _Pairs(place, {}), _Pairs(place, {})
    flags = (old.co_flags & 4) // 4 + (old.co_flags & 8) // 8  # *args and **keywords
    parameters = old.co_argcount + old.co_kwonlyargcount + flags
    for pair in zip(old.co_varnames[:parameters], new.co_varnames[:parameters], strict=True):
        variables.add(*pair)
    old_steps, new_steps = _steps(old), _steps(new)
    if [step[0] for step in old_steps] != [step[0] for step in new_steps] or (
        old.co_exceptiontable != new.co_exceptiontable
    ):
        raise Changed(f"{place}: other instructions")
    closures = []
    for ((name, _), before), (_, after) in zip(old_steps, new_steps, strict=True):
        if name == "LOAD_CLOSURE":
            closures.append((before, after))
            continue
        is_attribute = name.endswith(("_ATTR", "_METHOD"))
        is_global = name.endswith(("_GLOBAL", "_NAME"))
        pairs = attributes if is_attribute else globals_ if is_global else variables
        for pair in zip(before, after, strict=True):
            pairs.add(*pair)
    for sets in closures:
        variables.add_sets(*sets)
    for pairs in (variables, globals_, attributes):
        renames.update(pair for pair in pairs.new_of.items() if pair[0] != pair[1])
    if old.co_name != new.co_name:
        renames[old.co_name, new.co_name] += 1
    for constants in zip(_constants(old), _constants(new), strict=True):
        _compare_constant(*constants, renames, variables.new_of, place)


def _constants(code: CodeType) -> list[object]:
    """Return the constants in the order of their uses: equal ones are there once in the code."""
    uses = (step for step in dis.get_instructions(code) if step.opcode in dis.hasconst)
    return [code.co_consts[step.arg or 0] for step in uses]


Step = tuple[tuple[str, object], tuple[str, ...]]


def _steps(code: CodeType) -> list[Step]:
    """Return each instruction with its argument, and apart from them the names that it has.

    A jump's argument is the number of the step that it leads to. A run of LOAD_CLOSURE is one step.
    """
    steps: list[Step] = []
    step_at: dict[int, int] = {}
    for step in dis.get_instructions(code):
        step_at[step.offset] = len(steps)
        if step.opname in _SKIPPED:
            continue
        if step.opname == "LOAD_CLOSURE" and steps and steps[-1][0][0] == step.opname:
            steps[-1] = (step.opname, None), (*steps[-1][1], step.argval)
        elif step.opcode in _NAMED:
            bits = step.arg & 1 if step.opname == "LOAD_GLOBAL" and step.arg is not None else None
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            steps.append(((step.opname, bits), names))
        elif step.opcode in dis.hasconst:
            steps.append(((step.opname, None), ()))
        else:
            steps.append(((step.opname, step.argval if step.opcode in _JUMPS else step.arg), ()))
    return [
        ((op, step_at[value] if dis.opmap[op] in _JUMPS else value), names)  # type: ignore[index]
        for (op, value), names in steps
    ]


def _compare_constant(
    before: object, after: object, renames: Renames, variables: Mapping[str, str], place: str
) -> None:
    if isinstance(before, CodeType) and isinstance(after, CodeType):
        _compare_code(before, after, renames, variables)
    elif isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for parts in zip(before, after, strict=True):
            _compare_constant(*parts, renames, variables, place)
    elif isinstance(before, frozenset) and isinstance(after, frozenset):
        if sorted(map(repr, before)) != sorted(map(repr, after)):  # their own order is arbitrary
            raise Changed(f"{place}: {before} became {after}")
    elif type(before) is not type(after) or repr(before) != repr(after):
        names = _name_parts(before), _name_parts(after)
        if None in names or len(names[0] or ()) != len(names[1] or ()):
            raise Changed(f"{place}: {before!r} became {after!r}")
        for pair in zip(names[0] or (), names[1] or (), strict=True):
            if pair[0] != pair[1] and pair not in renames:
                renames[pair] += 0  # judged at the end: its other place may come later


def _name_parts(value: object) -> list[str] | None:
    """Return the names of a text such as `_offset` or `Class.method`; None if it is no name."""
    if not isinstance(value, str):
        return None
    parts = value.split(".")
    return parts if all(part.isidentifier() or part == "<locals>" for part in parts) else None


def changed_files(
    old: str, new: str, renamed: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the paths of each Python file that differs, in both commits."""
    deleted, added = [], []
    for line in _git("diff", "--name-status", "-M", old, new, "--", "*.py").splitlines():
        status, *paths = line.split("\t")
        if status == "D":
            deleted.append(paths[0])
        elif status == "A":
            added.append(paths[0])
        else:
            yield paths[0], paths[-1]
    yield from paired_files(deleted, added, renamed or {})


def paired_files(
    deleted: list[str], added: list[str], renamed: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Pair renamed files in which git sees no rename: as `renamed` says, or by their file name.

    Raises Changed if a file is left.
    """
    left = list(added)
    for before in deleted:
        name = PurePosixPath(before).name
        same_name = [path for path in left if PurePosixPath(path).name == name]
        after = renamed.get(before, same_name[0] if len(same_name) == 1 else None)
        if after not in left:
            raise Changed(f"{before}: deleted (if it was renamed, add --renamed OLD=NEW)")
        left.remove(after)
        yield before, after
    if left:
        raise Changed(f"{left[0]}: added (if it was renamed, add --renamed OLD=NEW)")


def _module(path: str) -> str:
    """Return the module's name as imports write it."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _git(*words: str) -> str:
    return subprocess.run(("git", *words), check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.same_code", description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW")
    options = parser.parse_args()
    renames: Renames = Counter()
    changed = 0
    try:
        named = dict(pair.split("=") for pair in options.renamed)
        files = list(changed_files(options.old, options.new, named))
    except Changed as error:
        print(error, file=sys.stderr)
        return 1
    modules = {_module(before): _module(after) for before, after in files}
    for before, after in files:
        texts = [_git("show", f"{options.old}:{before}"), _git("show", f"{options.new}:{after}")]
        try:
            renames.update(compare(texts[0], texts[1], modules))
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
