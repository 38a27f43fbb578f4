"""In which order tests are shared out."""

from __future__ import annotations

from tests.architecture.sources import ROOT
from tests.slow_first import QUICK, is_quick


def test_what_starts_brokers_is_slow() -> None:
    assert is_quick("tests/unit/storage/test_indexes.py::test_lookup[3]")
    assert not is_quick("tests/chaos/test_delivery.py::test_lookup")
    assert not is_quick("tests/unit_like/test_indexes.py::test_lookup")


def test_the_quick_folders_are_there() -> None:
    assert all((ROOT / "tests" / folder).is_dir() for folder in QUICK)
