"""A cluster that runs already, in the place of a broker; a stand-in for the host answers."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from ottla.testing import remote
from ottla.testing.errors import Misuse, NotPossible
from ottla.testing.frames import HELLO, Json, JsonFrameReader, encode
from ottla.testing.remote import RunningCluster, addresses


class Host:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.running = True
        self.dropped: list[Path] = []
        self._end: socket.socket | None = None

    def folder(self, name: str) -> Path:
        return self._folder

    def start(self, channel: socket.socket, log: Path) -> None:
        """Answers its first call as soon as that is there."""
        self.end = channel.dup()
        self.end.sendall(encode(HELLO) + encode({"id": 1, "result": [1]}))
        log.write_text("a line\nanother line")

    def asked(self) -> list[Json]:
        return list(JsonFrameReader().feed(self.end.recv(10000)))[1:]

    def drop(self, folder: Path) -> None:
        self.dropped.append(folder)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    one = Host(tmp_path)
    monkeypatch.setattr(remote, "the_host", lambda: one)
    return one


def test_it_is_asked_over_the_network(host: Host, tmp_path: Path) -> None:
    one = RunningCluster("kafka:9092,[::1]:9093")
    (asked,) = host.asked()
    assert asked["op"] == "connect"
    assert asked["args"] == {"bootstrap": [["kafka", 9092], ["::1", 9093]]}
    assert one.output(7) == "another line" and one.output_size == 19 and one.running
    one.close()
    host.end.close()
    assert host.dropped == [tmp_path]


@pytest.mark.parametrize("name", ["kill", "restart", "pause", "pid", "port", "data_dir"])
def test_what_a_process_is_needed_for_is_refused_by_name(host: Host, name: str) -> None:
    one = RunningCluster("kafka:9092")
    with pytest.raises(NotPossible, match=f"{name} needs a broker that the tests have started"):
        getattr(one, name)
    with pytest.raises(AttributeError):
        _ = one.nonsense
    one.close()
    host.end.close()


class Cluster:
    """Answers what a cluster would, in the place of the channel."""

    def __init__(self, end: socket.socket, who: str) -> None:
        self.close = end.close
        self.topics = {"theirs", "orders"}
        self.groups = {"their-group"}
        self.configs: dict[str, Json] = {}

    def call(self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float) -> Json:
        given = args or {}
        if op == "topic.create":
            self.topics.add(given["name"])
        elif op == "topic.delete":
            self.topics -= set(given["names"])
        elif op == "group.delete":
            self.groups -= set(given["groups"])
        elif op == "group.configure":
            self.configs.setdefault(given["group"], {}).update(given["configs"])
        elif op == "group.list":
            return [{"group": one} for one in self.groups]
        elif op == "topic.describe":
            return dict.fromkeys(self.topics, {})
        return None


def test_what_a_test_has_named_goes_with_it_and_nothing_else(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "ProcessChannel", Cluster)
    one = RunningCluster("kafka:9092")
    there = one._channel
    assert isinstance(there, Cluster)
    one.begin_test()
    own = one.topic("own")
    there.topics |= {"bills", "somebody-elses"}  # meanwhile
    there.groups |= {"billing", "another"}
    one.begin_test()  # of the same test
    for topic in ("bills", "orders"):
        one.existing_topic(topic).ends()
    one.delete_group("nobody")
    one.call("group.progress", {"group": "billing", "topics": ["theirs"]})
    for group in ("their-group", "billing"):
        one.configure_group(group, {"share.delivery.count.limit": 2})
    assert own.name in there.topics
    one.drop_topics()
    assert there.configs == {
        "their-group": {"share.delivery.count.limit": "2"},
        "billing": {"share.delivery.count.limit": None},
    }
    assert there.topics == {"theirs", "orders", "somebody-elses"}
    assert there.groups == {"their-group", "another"}
    one.begin_test()
    one.drop_topics()
    assert "somebody-elses" in there.topics
    one.close()
    host.end.close()


@pytest.mark.parametrize("text", ["kafka", "kafka:", ":x", "a:1,b"])
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(Misuse, match="write it as host:port,host:port"):
        addresses(text)
