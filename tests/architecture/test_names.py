"""Names lead where they say: tests beside sources, documents to files, no orphan, no grab bag."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.command.command_list import ELSEWHERE
from tests.architecture.sources import (
    PACKAGES,
    PIPELINE,
    ROOT,
    functions,
    nodes,
    relative,
    sources,
    tree,
)

UNIT = ROOT / "tests" / "unit"
DOCSTRING_MIN = 40
GRAB_BAGS = ("utils", "util", "helpers", "helper", "common", "base", "misc")
# Reached by name from outside: the console script, the pytest entry point, `python -m`.
ENTRY_POINTS = (
    "broker/__main__.py",
    "broker/testing/child.py",
    "broker/testing/host.py",
    "broker/testing/simulation/users/worker.py",
    "log_format/spark_source.py",
    "ottla/testing/broker_process.py",
    "ottla/testing/host_main.py",
    "ottla/testing/pytest_plugin.py",
    "protocol/generate.py",
    "storage/cleaning/cleaner_worker.py",
)


# Unit tests of more than one file: of all decoders, for example.
ACROSS = ("tests/unit/protocol/test_decoder_bounds.py",)


def modules() -> list[Path]:
    return [path for path in sources() if path.name != "__init__.py"]


def unit_test_of(path: Path) -> Path:
    stem = path.stem.strip("_")
    return UNIT / path.relative_to(ROOT).parent / f"test_{stem}.py"


_LOGIC = (ast.comprehension, ast.IfExp, ast.BinOp, ast.Compare, ast.Lambda)


def only_holds_values(path: Path) -> bool:
    """Whether no function of a file does anything: types and values have nothing to go wrong.

    Protocols' methods have a docstring or `...` for a body. Constructors take what they are given.
    """
    return all(_is_empty(one) or _only_constructs(one) for one in functions(path))


def _is_empty(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for node in function.body
    )


def _only_constructs(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = [ast.unparse(one) for one in function.decorator_list]
    if function.name == "__repr__":
        return True
    if function.name != "__init__" and "classmethod" not in decorators:
        return False
    return all(
        isinstance(one, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return)
        and one.value is not None
        and not any(isinstance(node, _LOGIC) for node in ast.walk(one.value))
        for one in function.body
    )


def test_every_source_that_does_something_has_its_unit_test() -> None:
    sources_that_do = [path for path in modules() if not only_holds_values(path)]
    wanted = [unit_test_of(path) for path in sources_that_do]
    assert [relative(test) for test in wanted if not test.exists()] == []


def test_what_holds_values_is_told_from_what_does_something(tmp_path: Path) -> None:
    for text, holds in (
        ("class A:\n  def __init__(self, a: int) -> None:\n    self.a = a", True),
        ("class A:\n  def __init__(self, a: int) -> None:\n    self.a = a + 1", False),
        ("class A:\n  @classmethod\n  def of(cls) -> A:\n    return cls(-1)", True),
        ("def f(a: int) -> int:\n  return a", False),
    ):
        source = tmp_path / f"{hash(text)}.py"  # what was parsed is remembered by its path
        source.write_text(text)
        assert only_holds_values(source) is holds, text


def test_a_unit_test_is_named_after_a_source() -> None:
    """`test_x.py`, or `test_x_more.py` where one file would be too long."""
    strangers = []
    for test in sorted(UNIT.rglob("test_*.py")):
        folder = ROOT / test.parent.relative_to(UNIT)
        stems = [path.stem.strip("_") for path in folder.glob("*") if path.stem != "__init__"]
        name = test.stem.removeprefix("test_")
        if relative(test) not in ACROSS and not any(
            name == stem or name.startswith(f"{stem}_") for stem in stems
        ):
            strangers.append(relative(test))
    assert strangers == []


def test_no_grab_bags() -> None:
    assert [relative(path) for path in modules() if path.stem in GRAB_BAGS] == []


def test_every_module_says_what_it_is() -> None:
    """In its docstring: what it is, what it owns, what it never does."""
    silent = [p for p in modules() if len(ast.get_docstring(tree(p)) or "") < DOCSTRING_MIN]
    assert [relative(path) for path in silent] == []
    future = "from __future__ import annotations"
    assert [relative(path) for path in modules() if future not in path.read_text()] == []


def test_no_orphans() -> None:
    """Every module is imported by another one, or is a command's, or an entry point."""
    imported = {
        name
        for path in sources(generated=False)
        for node in nodes(path)
        for name in _imported_names(node)
    } | {module for module, _ in ELSEWHERE.values()}
    orphans = [
        relative(path)
        for path in modules()
        if relative(path) not in ENTRY_POINTS
        and not relative(path).startswith("pipeline/")
        and ".".join(path.relative_to(ROOT).with_suffix("").parts) not in imported
    ]
    assert orphans == []


def _imported_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


DOCUMENTS = (
    "ARCHITECTURE.md",
    "README.md",
    "CONTRIBUTING.md",
    "bench/README.md",
    "bench/LESSONS.md",
    "docs/command-line.md",
    "docs/concepts.md",
    "docs/first-minute.md",
    "docs/groups.md",
    "docs/how-it-works.md",
    "docs/index.md",
    "docs/operations.md",
    "docs/performance.md",
    "docs/pipeline.md",
    "docs/security.md",
)
ENDS = ("", ".py")
FOLDERS = (*PACKAGES, "ottla", PIPELINE, "tests", "conf", "bench", "docs")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_file_that_a_document_names_exists(document: str) -> None:
    text = (ROOT / document).read_text()
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[A-Za-z0-9_./-]*)`", text)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    folder = (ROOT / document).parent
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert [name for name in links if not (folder / name).exists()] == []


def unknown_modules(text: str) -> Iterator[str]:
    """Names of modules that lead nowhere.

    `x.py` and `x/` are in the folder that their line has named before, else anywhere; `room/x` is a
    module or a folder of the broker.
    """
    for line in text.splitlines():
        folder: Path | None = None
        for name in re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9]+)*(?:\.py|/)?)`", line):
            if name.split("/")[0] in FOLDERS and "/" in name:
                folder = ROOT / name if name.endswith("/") else (ROOT / name).parent
            elif name.endswith((".py", "/")):
                beside = folder is not None and (folder / name).exists()
                if not beside and (folder or not any(one.name == name for one in modules())):
                    yield name
            elif "/" in name and not any((ROOT / "broker" / f"{name}{e}").exists() for e in ENDS):
                yield name


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "docs/concepts.md"])
def test_a_module_that_a_document_names_is_where_it_says(document: str) -> None:
    assert list(unknown_modules((ROOT / document).read_text())) == []


def test_a_name_that_leads_nowhere_is_seen() -> None:
    text = "`storage/log/unified_log.py`, `gone.py` and `partition.py`\n`apis/gone`, `gone.py`"
    assert list(unknown_modules(text)) == ["gone.py", "partition.py", "apis/gone", "gone.py"]
