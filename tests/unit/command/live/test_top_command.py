"""`ottla top`: looks, what is drawn and when it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from command.live import top_command
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from protocol.messages.list_offsets import ListOffsetsResponse
from tests.unit.client.groups import answers
from tests.unit.client.scripted import ScriptedCluster, offsets_of, topic_of
from tests.unit.client.topic_answers import sizes
from tests.unit.command.run_ottla import Ottla, ottla_on


class Clock:
    """A second passes at each pause; Ctrl-C after some."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses = 9

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses -= 1
        if self.pauses < 0:
            raise KeyboardInterrupt

    def strftime(self, _: str) -> str:
        return "--- now"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(top_command, "time", clock)
    return clock


@pytest.fixture
def ottla(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ottla:
    def growing(request: Any) -> ListOffsetsResponse:
        found = offsets_of(request)
        found.topics[0].partitions[0].offset += int(clock.now - 100) * 5
        return found

    cluster = ScriptedCluster(
        [topic_of("t"), topic_of("__x", is_internal=True)],
        {
            "ListOffsetsRequest": growing,
            "DescribeLogDirsRequest": sizes,
            "ListGroupsRequest": ListGroupsResponse(groups=[ListedGroup("g")]),
            "OffsetFetchRequest": answers.committed({"t": {0: 8}}),
        },
    )
    return ottla_on(cluster, [top_command], monkeypatch, capfd)


def test_so_many_times(ottla: Ottla) -> None:
    code, out, error = ottla("top", "-n", "2", "--interval", "1")
    assert (code, error) == (0, "")
    assert out.splitlines()[:4] == [
        "--- now",
        "5 records/s, 0 B/s written to 1 topic, 1 group",
        "TOPIC  RECORDS/S  BYTES/S  PARTITIONS  RECORDS  BYTES",
        "t      5          0 B      1           7        100 B",
    ]
    assert out.count("--- now") == 2 and "g      7    +5        0" in out


def test_until_it_is_interrupted(ottla: Ottla, clock: Clock) -> None:
    clock.pauses = 3
    code, out, _ = ottla("top", "--json")
    assert code == 0
    topic, group = (json.loads(line) for line in out.splitlines()[:2])
    assert (topic["topic"], topic["records_per_s"], group["group"]) == ("t", 5.0, "g")
    assert len(out.splitlines()) == 6


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the captured standard output a terminal that can clear its screen."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_has_one_screen_which_is_left_at_the_end(
    ottla: Ottla, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_terminal(monkeypatch)
    clock.pauses = 1
    code, out, _ = ottla("top")
    assert code == 0 and out.startswith("\x1b[?1049h") and out.endswith("\x1b[?1049l")
    first, second = out.split("\x1b[H\x1b[2J")[1:]
    assert first.startswith("0 records/s") and second.startswith("5 records/s")


def test_a_terminal_is_left_alone_with_a_count_and_if_it_is_dumb(
    ottla: Ottla, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    code, out, _ = ottla("top", "-n", "1")
    assert code == 0 and "\x1b" not in out and out.count("records/s") == 1
    monkeypatch.setenv("TERM", "dumb")
    clock.pauses = 2
    code, out, _ = ottla("top")
    assert code == 0 and "\x1b" not in out and out.count("--- now") == 2


def test_ctrl_c_before_the_last_of_a_count_shows_in_the_exit_code(
    ottla: Ottla, clock: Clock
) -> None:
    clock.pauses = 1
    assert ottla("top", "-n", "2")[0] == 130
