"""Processes collect from both ends the same tests, which the garbage collector then ignores."""

from __future__ import annotations

import gc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.plugins.quick_collection import QuickCollection

FILES = [Path("a/test_a.py"), Path("a/test_b.py"), Path("b/test_a.py")]


def through(wrapper: Any, result: Any = None) -> Any:
    """Return the result of a hook wrapper around a hook with this result."""
    next(wrapper)
    with pytest.raises(StopIteration) as ended:
        wrapper.send(result)
    return ended.value.value


def reported(worker: str | None, kind: type[pytest.Collector]) -> Any:
    report = SimpleNamespace(result=[1, 2, 3])
    collector = kind.__new__(kind)
    return through(QuickCollection(worker).pytest_make_collect_report(collector), report).result  # type: ignore[arg-type]


@pytest.mark.parametrize("worker", [None, "gw0", "gw2", "gw10"])
def test_every_other_process_begins_with_the_first_file(worker: str | None) -> None:
    assert reported(worker, pytest.Dir) == [1, 2, 3]


@pytest.mark.parametrize("worker", ["gw1", "gw3", "gw11"])
def test_the_others_begin_with_the_last_and_keep_the_order_within_a_file(worker: str) -> None:
    assert reported(worker, pytest.Dir) == reported(worker, pytest.Package) == [3, 2, 1]
    assert reported(worker, pytest.Module) == [1, 2, 3]


def test_all_have_the_same_order_in_the_end() -> None:
    forwards = [SimpleNamespace(path=file, name=name) for file in FILES for name in "zy"]
    backwards = [SimpleNamespace(path=file, name=name) for file in FILES[::-1] for name in "zy"]
    for worker, items in (("gw0", forwards), ("gw1", backwards)):
        through(QuickCollection(worker).pytest_collection_modifyitems(items))  # type: ignore[arg-type]
    assert forwards == backwards
    assert [item.name for item in forwards] == ["z", "y"] * 3


def test_a_process_alone_keeps_the_order_in_which_files_were_named() -> None:
    items = [SimpleNamespace(path=file) for file in FILES[::-1]]
    through(QuickCollection(None).pytest_collection_modifyitems(items))  # type: ignore[arg-type]
    assert [item.path for item in items] == FILES[::-1]


def test_what_was_collected_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    # The real functions would examine all objects of this test run, and exclude them for good.
    frozen: list[bool] = []
    monkeypatch.setattr(gc, "collect", lambda: 0)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(gc.isenabled()))
    wrapper = QuickCollection("gw0").pytest_collection()
    next(wrapper)
    assert not gc.isenabled()
    with pytest.raises(RuntimeError, match="broken"):
        wrapper.throw(RuntimeError("broken"))
    assert gc.isenabled() and frozen == [False]
