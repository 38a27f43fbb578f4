"""The files of the repository: no paths of a machine, no built and no huge files."""

from __future__ import annotations

import re

from tests.architecture.sources import ROOT
from tests.architecture.tracked_files import tracked

FILE_BYTES_MAX = 1_000_000
# Folders of a user or a build machine; written in two parts so that it does not match itself.
MACHINE_PATHS = re.compile("/" + r"(?:work|home|root|Users)/[A-Za-z0-9_.-]+")
TEXT = (".py", ".md", ".toml", ".json", ".properties", ".txt", ".yml", ".xml", ".java", ".go", "")
# Texts of Kafka that name such a folder.
ALLOWED = ("/home/kafka",)
# The pages that a visitor reads first stay short.
LINES_MAX = {"README.md": 190, "ARCHITECTURE.md": 200, "bench/LESSONS.md": 80}
RESULTS_MAX = 9


def test_no_paths_of_one_machine() -> None:
    places = []
    for name in tracked():
        path = ROOT / name
        if path.suffix not in TEXT or path.stat().st_size > FILE_BYTES_MAX:
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            hits = [hit for hit in MACHINE_PATHS.findall(line) if hit not in ALLOWED]
            places += [f"{name}:{number}: {hit}" for hit in hits]
    assert places == []


def test_nothing_built_and_nothing_huge() -> None:
    names = tracked()
    built = (".pyc", ".class", ".jar", ".whl", ".so")
    assert [name for name in names if name.endswith(built) or "__pycache__" in name] == []
    huge = [name for name in names if (ROOT / name).stat().st_size > FILE_BYTES_MAX]
    assert huge == []


def test_the_documents_of_a_repository_are_there() -> None:
    wanted = (
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE",
        "NOTICE",
        "Makefile",
        "pyproject.toml",
        ".ci/run",
        "conf/server.properties",
    )
    assert [name for name in wanted if not (ROOT / name).exists()] == []


def test_the_first_pages_stay_short() -> None:
    lines = {name: (ROOT / name).read_text().count("\n") for name in LINES_MAX}
    assert {name: count for name, count in lines.items() if count > LINES_MAX[name]} == {}


def test_the_newest_results_of_the_bench_are_kept_and_no_others() -> None:
    kept = [name for name in tracked() if name.startswith("bench/results/")]
    assert len(kept) <= RESULTS_MAX, "older runs are in the history"
    text = (ROOT / "docs" / "performance.md").read_text()
    assert [name for name in kept if name.removeprefix("bench/") not in text] == []
