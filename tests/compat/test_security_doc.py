"""What docs/security.md shows works, in its order and word for word, but for ports and the folder.

So that this takes seconds, the cluster has one node: `test_cluster_command.py` starts three.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.page_reader import BLOCK, Reader
from tests.tools.kafka_tools import KafkaTools

pytestmark = pytest.mark.java

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "security.md").read_text()
LINES_MAX = 640
"""Of the page, with the sections on tokens and plug-ins, and the table of advisories."""


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    tools = KafkaTools("unused")
    made = Reader(tmp_path, monkeypatch, tools, {"cluster": ("--brokers", "1")})
    yield made
    try:
        made.stop()
    finally:
        tools.close()


def test_every_block_works_in_its_order(reader: Reader) -> None:
    blocks = BLOCK.findall(PAGE)
    assert len(blocks) > 15
    for kind, text in blocks:
        reader.follow(kind, text)
    reader.stop()
    assert reader.commands > 20


def test_it_says_what_is_to_be_turned_on_and_stays_short() -> None:
    words = " ".join(PAGE.split())
    assert "every connected client may read, write, delete and change everything" in words
    assert len(PAGE.splitlines()) <= LINES_MAX
    assert PAGE.count("```") == 2 * len(BLOCK.findall(PAGE))
