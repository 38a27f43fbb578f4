"""What docs/first-minute.md and docs/how-it-works.md show works, in its order, but for ports."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.page_reader import BLOCK, Reader, is_in
from tests.tools.ports import free_base

pytestmark = pytest.mark.timeout(400)

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIRST_MINUTE = (DOCS / "first-minute.md").read_text()
HOW_IT_WORKS = (DOCS / "how-it-works.md").read_text()
ONE_NODE, THREE_NODES = HOW_IT_WORKS.split("## Replication")
STARTS = "make run"
FIXTURE = "def test_"


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.chdir(tmp_path)
    base = free_base()
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", f"localhost:{base}")
    port = ("--port", str(base))
    made = Reader(tmp_path, monkeypatch, options={"serve": port, "cluster": port}, base=base)
    yield made
    made.stop()


def follow(reader: Reader, page: str) -> None:
    """Every block of a part of a page but those that install, and those of a test."""
    for kind, text in BLOCK.findall(page):
        if STARTS not in text and FIXTURE not in text:
            reader.follow(kind, text)


def test_the_first_minute(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    one_node, _ = FIRST_MINUTE.split("## Three nodes")
    reader.follow("console", "$ ottla serve\n")
    follow(reader, one_node)
    assert reader.commands > 5
    (fixture,) = (text for kind, text in BLOCK.findall(one_node) if FIXTURE in text)
    Path("test_order.py").write_text(fixture)
    monkeypatch.delenv("OTTLA_BOOTSTRAP_SERVERS")  # the fixture would take that cluster
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytest_ = f"{sys.executable} -P -m pytest -q -p ottla.testing.pytest_plugin"
    reader.follow("console", f"$ {pytest_} test_order.py\n1 passed\n")


def test_how_it_works_on_one_node(reader: Reader) -> None:
    follow(reader, ONE_NODE)
    assert reader.commands > 20


@pytest.mark.long
def test_how_it_works_on_three_nodes(reader: Reader) -> None:
    follow(reader, THREE_NODES)
    assert reader.commands > 6


def test_dots_stand_for_anything_within_a_line() -> None:
    assert is_in("a … c", "x\na b c d\n") and not is_in("a … c", "a b\nc")
    assert is_in("[1]", "is [1]") and not is_in("[1]", "is 1")


def test_every_example_of_these_pages_is_followed() -> None:
    for page in (FIRST_MINUTE, HOW_IT_WORKS):
        kinds = re.findall(r"^```(\w+)$", page, re.MULTILINE)
        assert len(kinds) == len(BLOCK.findall(page))
