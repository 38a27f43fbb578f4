"""`ottla consume`: words, where to begin and to end, what is printed, what is committed."""

from __future__ import annotations

from typing import Any

import pytest

from client.records import reading
from command.records import consume_command
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.list_offsets import ListOffsetsResponse
from tests.unit.client.groups import answers
from tests.unit.client.records.batches import packed
from tests.unit.client.scripted import (
    ScriptedCluster,
    ScriptedNode,
    offsets_of,
    topic_of,
)
from tests.unit.command.run_ottla import Ottla, ottla_on

FIRST, LAST = 3, 10
"""Of partition 0, as the answers to ListOffsets have it; partition 1 has one more."""


def fetched(request: Any) -> FetchResponse:
    """The rest of the one partition that is asked for: its values are its offsets."""
    (wanted,) = request.topics[0].partitions
    offset, end = wanted.fetch_offset, LAST + wanted.partition
    values = [b"%d" % one for one in range(offset, end)]
    data = PartitionData(
        wanted.partition, 0, end, end, records=memoryview(packed(values, offset) if values else b"")
    )
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=[data])])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ScriptedCluster:
    monkeypatch.setattr(reading, "wait_for_answers", lambda clients, _: clients)
    return ScriptedCluster(
        [topic_of("t", [1, 2])],
        {"ListOffsetsRequest": offsets_of},
        {1: ScriptedNode([fetched] * 9), 2: ScriptedNode([fetched] * 9)},
    )


@pytest.fixture
def ottla(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ottla:
    return ottla_on(cluster, [consume_command], monkeypatch, capfd)


def printed(ottla: Ottla, *words: str) -> list[int]:
    code, out, error = ottla("consume", "t", "-p", "0", *words)
    assert (code, error) == (0, "")
    return [int(line) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("words", "offsets"),
    [
        ([], range(3, 10)),
        (["--from", "-2"], range(8, 10)),
        (["--from", "-99"], range(3, 10)),
        (["--from", "5", "--to", "7"], range(5, 7)),
        (["--from", "0", "--to", "99"], range(3, 10)),
        (["--from", "end"], range(0)),
        (["-n", "2"], range(3, 5)),
        (["--grep", "^[46]$"], [4, 6]),
    ],
)
def test_which_are_printed(ottla: Ottla, words: list[str], offsets: Any) -> None:
    assert printed(ottla, *words) == list(offsets)


def test_a_time_after_the_last_record_is_the_end(ottla: Ottla, cluster: ScriptedCluster) -> None:
    def by_time(request: Any) -> ListOffsetsResponse:
        found = offsets_of(request)
        if request.topics[0].partitions[0].timestamp > 0:
            found.topics[0].partitions[0].offset = -1
        return found

    cluster.answers["ListOffsetsRequest"] = by_time
    assert printed(ottla, "--from", "@5") == []
    assert printed(ottla, "--to", "@5") == list(range(3, 10))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "x"], "--from x: give start, end, an offset"),
        (["--to", "@x"], "--to @x: a time is"),
        (["--to", "5", "-f"], "--to ends and --follow does not"),
        (["--commit"], "--commit needs the --group"),
        (["--grep", "("], "this is no regular expression"),
        (["-p", "7"], "topic t has partitions 0 to 1, and no 7"),
        (["-n", "0"], "0 is not in the range"),
    ],
)
def test_what_is_wrong_is_one_line(ottla: Ottla, words: list[str], said: str) -> None:
    code, out, error = ottla("consume", "t", *words)
    assert (code, out, error.count("\n")) == (2, "", 1) and said in error


def test_a_run_commits_before_its_end(
    ottla: Ottla, cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consume_command, "_COMMITTED_EACH_S", 0)
    cluster.answers["OffsetFetchRequest"] = answers.committed({})
    cluster.answers["OffsetCommitRequest"] = answers.taken()
    assert ottla("consume", "t", "-p", "0", "--group", "g", "--commit")[0] == 0
    assert len(cluster.asked_for("OffsetCommitRequest")) == 2, "behind the batch, and at the end"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 130),
        (["-n", "9"], 130),
        (["--group", "g", "--commit"], 130),
        (["-f"], 0),
        (["-f", "--group", "g", "--commit"], 0),
    ],
)
def test_ctrl_c_before_the_end_shows_in_the_exit_code(
    ottla: Ottla, cluster: ScriptedCluster, words: list[str], code: int
) -> None:
    def interrupt(_: Any) -> FetchResponse:
        raise KeyboardInterrupt

    cluster.answers["OffsetFetchRequest"] = answers.committed({})
    cluster.scripted[1].answers.clear()
    cluster.scripted[1].answers.append(interrupt)
    assert ottla("consume", "t", "-p", "0", *words) == (code, "", "")
