"""`ottla consume --share-group`: which options it takes, what is printed and accepted, its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from client.records.reading import Batch
from command.records import consume_command, share_printing
from tests.unit.client.records.batches import batch_of, packed
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.command.run_ottla import Ottla, ottla_on

WORDS = ("consume", "t", "--share-group", "g")


class Acquired:
    """A reader with the batches that a test gives; None is a round without records."""

    batches_to_come: tuple[Batch | None, ...] = ()
    made: list[Acquired] = []

    def __init__(self, *_: object) -> None:
        self.is_assigned = True
        self.accepted: list[int] = []
        self.left: list[int | None] = []
        self.is_closed = False
        Acquired.made.append(self)

    def batches(self, most: Any) -> Iterator[Batch | None]:
        for batch in self.batches_to_come:
            self.left.append(most())
            yield batch

    def accept(self, _batch: Batch, end: int) -> None:
        self.accepted.append(end)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def cluster() -> ScriptedCluster:
    return ScriptedCluster([topic_of("t")])


@pytest.fixture
def ottla(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ottla:
    monkeypatch.setattr(cluster, "serves", lambda _: True)
    monkeypatch.setattr(share_printing, "ShareReader", Acquired)
    monkeypatch.setattr(Acquired, "made", [])
    first, second = (batch_of(packed([b"a", b"b", b"c"], start)) for start in (0, 3))
    monkeypatch.setattr(Acquired, "batches_to_come", (None, first, second))
    return ottla_on(cluster, [consume_command], monkeypatch, capfd)


def test_what_is_printed_is_accepted_and_the_rest_is_released(ottla: Ottla) -> None:
    assert ottla(*WORDS) == (0, "a\nb\nc\na\nb\nc\n", "")
    assert ottla(*WORDS, "-n", "4") == (0, "a\nb\nc\na\n", "")
    whole, some = Acquired.made
    assert whole.accepted == [3, 6] and whole.is_closed
    assert some.accepted == [3, 4] and some.is_closed
    assert some.left == [4, 4, 1]


def test_it_ends_after_some_seconds_without_a_record(
    ottla: Ottla, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 100, 3))
    monkeypatch.setattr(share_printing.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(Acquired, "batches_to_come", (None,) * 9)
    assert ottla(*WORDS)[0] == 0
    assert len(Acquired.made[0].left) < 9
    assert ottla(*WORDS, "--follow")[0] == 0
    assert len(Acquired.made[1].left) == 9


def test_a_signal_and_a_damaged_batch_release_the_rest(
    ottla: Ottla, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    whole = batch_of(packed([b"a"]), 0, 1)
    damaged = whole._replace(header=whole.header._replace(record_count=9))
    monkeypatch.setattr(Acquired, "batches_to_come", (damaged,))
    code, _, error = ottla(*WORDS)
    assert code == 2 and "ottla group reset g moves the group past it" in error
    monkeypatch.setattr(share_printing, "render", interrupted)
    assert ottla(*WORDS)[0] == 0
    assert all(reader.is_closed and reader.accepted == [] for reader in Acquired.made)


@pytest.mark.parametrize(
    "words",
    [
        ("--from", "end"),
        ("--to", "end"),
        ("-p", "0"),
        ("--group", "c"),
        ("--uncommitted",),
        ("--grep", "x"),
    ],
)
def test_options_without_a_meaning_for_a_share_group(ottla: Ottla, words: tuple[str, ...]) -> None:
    code, out, error = ottla(*WORDS, *words)
    assert (code, out) == (2, "") and "the share group decides which records come" in error
    assert Acquired.made == []


def test_a_cluster_without_share_groups(
    ottla: Ottla, cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "serves", lambda _: False)
    code, _, error = ottla(*WORDS)
    assert code == 1 and "this cluster has no share groups" in error
