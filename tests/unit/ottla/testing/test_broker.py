"""`Broker`, with a stand-in for the host and what a broker answers."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
from datetime import timedelta
from pathlib import Path

import pytest

from ottla.testing import broker, own_process
from ottla.testing.broker import Broker, Membership
from ottla.testing.errors import BrokerGone, DeadlinePassed, Misuse, StartFailed, StopFailed
from ottla.testing.frames import HELLO, FrameReader, Json, encode

TOLD = {"port": 1, "as_new": {"features": {"f": 1}}}


class Host:
    """Answers the first call before it comes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.running = True
        self.signals: list[int] = []
        self.kept: list[bool] = []
        self.ends: list[socket.socket] = []
        self._started: list[Json] = []
        self.error: dict[str, str] | None = None
        self.stubborn = False
        self.lives = False

    def folder(self, name: str, *, keep: bool) -> Path:
        self.kept.append(keep)
        folder = self._folder / f"{name}-{len(self.kept)}"
        folder.mkdir()
        return folder

    def start(self, channel: socket.socket, log: Path) -> int:
        with log.open("a") as file:
            file.write("a line of the broker\n")
        end = channel.dup()
        self.ends.append(end)
        self.lives = True
        answer = {"result": TOLD} if self.error is None else {"error": self.error}
        end.sendall(encode(HELLO) + encode({"id": 1, **answer}))
        return 4711

    def signal(self, pid: int, number: int) -> bool:
        assert pid == 4711
        if number:
            self.signals.append(number)
        return self.lives

    def wait(self, pid: int, timeout_s: float) -> int:
        if self.stubborn and self.signals[-1:] != [signal.SIGKILL]:
            raise DeadlinePassed("no")
        self.look()
        while self.ends:
            self.ends.pop().close()
        self.lives = False
        return -self.signals[-1] if self.signals else -signal.SIGABRT

    def drop(self, folder: Path) -> None:
        shutil.rmtree(folder)

    def look(self) -> list[Json]:
        """The arguments of each start."""
        for end in self.ends:
            with contextlib.suppress(OSError):  # closed, or looked at before
                messages = FrameReader().feed(end.recv(10000, socket.MSG_DONTWAIT))
                self._started += [one["args"] for one in messages if "op" in one]
        return self._started


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    one = Host(tmp_path)
    monkeypatch.setattr(own_process, "the_host", lambda: one)
    return one


def test_its_life(host: Host) -> None:
    one = Broker({"num.partitions": 3})  # type: ignore[dict-item]
    assert not one.running and one.stop() == 0
    with pytest.raises(Misuse, match="is not running"):
        _ = one.pid
    assert one.start() is one and one.running and one.pid == 4711
    (arguments,) = host.look()
    assert arguments["properties"] == {
        "listeners": f"PLAINTEXT://{one.bootstrap_servers}",
        "log.dirs": str(one.data_dir),
        "num.partitions": "3",
    }
    assert arguments["durable"] is False and arguments["place"]["folder"] == os.getcwd()
    with pytest.raises(Misuse, match="is running already"):
        one.start()
    assert one.stop() == -signal.SIGTERM
    one.restart()
    assert [args["as_new"] for args in host.look()] == [None, TOLD["as_new"]]
    one.kill()
    assert host.signals == [signal.SIGCONT, signal.SIGTERM, signal.SIGKILL]
    assert one.output() == "a line of the broker\na line of the broker"
    one.close()
    one.close()
    assert not one.log_file.exists() and one.output().startswith("a line")
    with pytest.raises(Misuse, match="make a new one"):
        one.start()


def test_of_a_session_only_the_end_of_the_output_is_shown(host: Host) -> None:
    with Broker() as one:
        offset = one.output_size
        assert one.output(offset) == ""
        with one.log_file.open("a") as file:
            file.write("of this test\n")
        assert one.output(offset) == "of this test"


def test_its_id(host: Host) -> None:
    for properties, node_id in (({}, 1), ({"node.id": "7"}, 7)):
        with contextlib.closing(Broker(properties)) as one:
            assert one.node_id == node_id
            assert repr(one) == f"<Broker {node_id} on {one.bootstrap_servers}>"
    member = Membership(3, "cluster", ())
    with contextlib.closing(Broker(member=member)) as one:
        assert one.node_id == 3


def test_pause(host: Host) -> None:
    with Broker() as one:
        one.pause()
        one.resume()
    assert host.signals[:2] == [signal.SIGSTOP, signal.SIGCONT]


def test_a_failed_start_is_told_with_what_the_broker_said(host: Host) -> None:
    host.error = {"kind": "start", "text": "unknown key"}
    with pytest.raises(StartFailed, match=r"start: unknown key; it said:\na line"), Broker():
        pass
    assert host.signals == [signal.SIGKILL]


def test_one_that_does_not_stop_is_killed(host: Host) -> None:
    one = Broker().start()
    host.stubborn = True
    with pytest.raises(StopFailed, match="did not stop within 1 s"):
        one.stop(timeout_s=1)
    assert not one.running
    one.close()


def test_a_crash_is_told(host: Host) -> None:
    with Broker() as one:
        host.ends[0].close()
        with pytest.raises(BrokerGone, match="has ended: its process is gone; it said:\na line"):
            one.call("ping", timeout_s=5)
        assert not one.running, "its end was waited for"
        one.start()


def test_data_of_somebodys_own(host: Host, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    with Broker(data_dir=mine, keep_data=True):
        assert host.kept == [True]
        (arguments,) = host.look()
        assert arguments["durable"] is True and arguments["properties"]["log.dirs"] == str(mine)
    assert host.signals[-1] == signal.SIGTERM, "it closes its logs"
    assert mine.exists()


def test_a_host_that_is_gone_is_no_reason_not_to_close(host: Host) -> None:
    one = Broker().start()
    host.running = False
    assert not one.running
    one.close()
    host.ends.pop().close()


async def test_with_coroutines(host: Host) -> None:
    async with Broker() as one:
        assert one.running
    assert host.signals == [signal.SIGKILL]


def test_clocks_that_were_moved_stay_ahead(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "advance", lambda _call, by: by / timedelta(milliseconds=1))
    with Broker() as one:
        assert not one.is_ahead
        one.advance(days=1, hours=1, minutes=1, seconds=1)
        assert one.is_ahead
        one.stop()
        one.advance(seconds=1)
        with pytest.raises(Misuse, match="never back"):
            one.advance(seconds=-1)
        one.start()
    assert [args["ahead_ms"] for args in host.look()] == [0.0, 90_062_000.0]


def test_faults_know_the_topics_of_the_test(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, Json]] = []
    monkeypatch.setattr(Broker, "call", lambda _self, op, args=None, **_: calls.append((op, args)))
    with Broker() as one:
        orders = one.topic("orders")
        one.fail("Produce", "INVALID_RECORD", topic="orders")
        assert [args["topic"] for op, args in calls if op == "fault.add"] == [orders.name]
