"""Names are right: tests' folders, documents' file names; no orphans and no grab bags."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from command.command_list import MODULES
from tests.architecture.sources import (
    PACKAGES,
    PIPELINE,
    ROOT,
    nodes,
    relative,
    sources,
    tree,
)

UNIT = ROOT / "tests" / "unit"
DOCSTRING_MIN = 40
GRAB_BAGS = ("utils", "util", "helpers", "helper", "common", "base", "misc")
# Started by name: the console script, the pytest entry point, `python -m`.
ENTRY_POINTS = (
    "command/__main__.py",
    "ottla/__main__.py",
    "testbed/child.py",
    "testbed/host.py",
    "simulation/users/worker.py",
    "log_format/spark_source.py",
    "ottla/spark.py",
    "ottla/testing/broker_process.py",
    "ottla/testing/host_main.py",
    "ottla/testing/pytest_plugin.py",
    "protocol/generate.py",
    "storage/cleaning/cleaner_worker.py",
)


def modules() -> list[Path]:
    return [path for path in sources() if path.name != "__init__.py"]


def test_a_unit_test_lies_in_the_folder_of_what_it_drives() -> None:
    """Expect a package for each folder; a test file's name says which behaviour it shows."""
    folders = {path.parent for path in sorted(UNIT.rglob("test_*.py"))}
    sources_of = {folder: ROOT / folder.relative_to(UNIT) for folder in folders}
    assert [relative(folder) for folder, source in sources_of.items() if not source.is_dir()] == []


def test_no_grab_bags() -> None:
    assert [relative(path) for path in modules() if path.stem in GRAB_BAGS] == []


def test_every_module_says_what_it_is() -> None:
    """Expect a docstring: what the module is, what it owns, what it never does."""
    silent = [p for p in modules() if len(ast.get_docstring(tree(p)) or "") < DOCSTRING_MIN]
    assert [relative(path) for path in silent] == []
    future = "from __future__ import annotations"
    assert [relative(path) for path in modules() if future not in path.read_text()] == []


def test_no_orphans() -> None:
    """Expect that another module imports it, a command runs it, or it is an entry point."""
    imported = {
        name
        for path in sources(generated=False)
        for node in nodes(path)
        for name in _imported_names(node)
    } | {module for module, _ in MODULES.values()}
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
    "docs/queues.md",
    "docs/security.md",
    "docs/walks.md",
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
    """Yield the names of modules that do not exist.

    `x.py` and `x/` are in the folder that their line names before them, else anywhere; `room/x` is
    a module or a folder of the broker.
    """
    for line in text.splitlines():
        folder: Path | None = None
        for name in re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9]+)*(?:\.py|/)?)`", line):
            if name.split("/")[0] in FOLDERS and "/" in name:
                folder = ROOT / name if name.endswith("/") else (ROOT / name).parent
            elif name.endswith((".py", "/")):
                beside = folder is not None and (folder / name).exists()
                if not beside and (folder or not any(path.name == name for path in modules())):
                    yield name
            elif "/" in name and not any((ROOT / "broker" / f"{name}{e}").exists() for e in ENDS):
                yield name


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "docs/concepts.md", "docs/walks.md"])
def test_a_module_that_a_document_names_is_where_it_says(document: str) -> None:
    assert list(unknown_modules((ROOT / document).read_text())) == []


def test_a_name_that_leads_nowhere_is_seen() -> None:
    text = "`storage/log/unified_log.py`, `gone.py` and `partition.py`\n`apis/gone`, `gone.py`"
    assert list(unknown_modules(text)) == ["gone.py", "partition.py", "apis/gone", "gone.py"]
