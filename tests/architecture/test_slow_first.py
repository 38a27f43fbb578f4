"""In which order tests are shared out."""

from __future__ import annotations

from types import SimpleNamespace

from tests.architecture.sources import ROOT
from tests.plugins import slow_first
from tests.plugins.slow_first import QUICK, is_quick

SHUFFLED = [
    "tests/unit/storage/log/test_indexes.py::test_b",
    "tests/compat/test_admin.py::test_a",
    "tests/architecture/test_sizes.py::test_a",
    "tests/unit/storage/log/test_indexes.py::test_a",
    "tests/chaos/test_delivery.py::test_a",
]


def ordered(*, reorder: bool, **config: object) -> list[str]:
    items = [SimpleNamespace(nodeid=one) for one in SHUFFLED]
    config["option"] = SimpleNamespace(loadscopereorder=reorder)
    slow_first.pytest_collection_modifyitems(SimpleNamespace(**config), items)  # type: ignore[arg-type]
    return [one.nodeid for one in items]


def test_where_processes_share_files_what_starts_brokers_comes_first() -> None:
    assert ordered(reorder=False, workerinput={}) == [SHUFFLED[at] for at in (1, 4, 0, 2, 3)]


def test_otherwise_the_order_is_left() -> None:
    assert ordered(reorder=False) == ordered(reorder=True, workerinput={}) == SHUFFLED


def test_a_folder_of_a_like_name_is_not_quick() -> None:
    assert not is_quick("tests/unit_like/test_indexes.py::test_a")


def test_the_quick_folders_are_there() -> None:
    assert all((ROOT / "tests" / folder).is_dir() for folder in QUICK)
