"""What docs/queues.md shows works, block by block, but for ports.

`pytest tests/compat/test_queues_doc.py --broker=apache-kafka` follows it in front of Apache Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.page_reader import BLOCK, Reader

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "queues.md").read_text()


@pytest.fixture
def reader(broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A reader in front of the broker of the run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", broker)
    made = Reader(tmp_path, monkeypatch, base=int(broker.rpartition(":")[2]))
    yield made
    made.stop()


@pytest.mark.timeout(300)
def test_the_page_works_from_the_first_job_to_the_replay(reader: Reader) -> None:
    for kind, text in BLOCK.findall(PAGE):
        reader.follow(kind, text)
    assert reader.commands > 10


def test_every_example_of_the_page_is_followed() -> None:
    assert len(re.findall(r"^```\w+$", PAGE, re.MULTILINE)) == len(BLOCK.findall(PAGE))
