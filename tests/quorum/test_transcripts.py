"""Raft by transcripts: `testdata/*.txt` hold commands and what the nodes did.

A paragraph is a command, `----`, and the expected lines. Lines that begin with `#` say what a
scenario shows and where the rule comes from. `python -m tests.quorum.test_transcripts --rewrite`
writes what happens now; commit only changes that you understand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.quorum.raft_cluster import RaftCluster

TESTDATA = Path(__file__).parent / "testdata"
SCENARIOS = sorted(TESTDATA.glob("*.txt"))


def replayed(text: str) -> str:
    """The scenario with what happens now in place of what is expected."""
    cluster = RaftCluster()
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        lines = paragraph.splitlines()
        comments = [line for line in lines if line.startswith("#")]
        rest = [line for line in lines if not line.startswith("#")]
        if not rest:
            paragraphs.append(paragraph)
            continue
        paragraphs.append("\n".join([*comments, rest[0], "----", cluster.run(rest[0])]))
    return "\n\n".join(paragraphs) + "\n"


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    text = path.read_text()
    assert replayed(text) == text


def test_there_are_transcripts() -> None:
    assert len(SCENARIOS) >= 10


if __name__ == "__main__":
    if sys.argv[1:] != ["--rewrite"]:
        sys.exit("python -m tests.quorum.test_transcripts --rewrite")
    for scenario in SCENARIOS:
        scenario.write_text(replayed(scenario.read_text()))
