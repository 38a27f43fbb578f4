"""`ottla acl`: what words become, what is asked before something goes, what is printed."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from client.access.acls import Filter
from command.admin import acl_command
from command.cli import run_cli
from controller.metadata.acl import Acl

Ottla = Callable[..., tuple[int, str, str]]
READ = Acl(2, "orders", 3, "User:alice", "*", 3, 3)
TABLE = [
    "PRINCIPAL   PERMISSION  OPERATION  HOST  RESOURCE  PATTERN  NAME",
    "User:alice  ALLOW       READ       *     TOPIC     LITERAL  orders",
]


class Cluster:
    """Stands for a cluster, and for the questions to it."""

    def __init__(self) -> None:
        self.call = self
        self.added: list[Acl] = []
        self.there: list[Acl] = [READ]
        self.asked: list[Filter] = []
        self.removed: list[Filter] = []

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add(self, _: Any, acls: Sequence[Acl]) -> None:
        self.added += acls

    def find(self, _: Any, filters: Sequence[Filter]) -> list[Acl]:
        self.asked += filters
        return self.there

    def remove(self, _: Any, filters: Sequence[Filter]) -> list[Acl]:
        self.removed += filters
        return self.there


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(acl_command, "ClusterClient", lambda servers, config: made)
    for name in ("add", "find", "remove"):
        monkeypatch.setattr(acl_command, name, getattr(made, name))
    return made


@pytest.fixture
def ottla(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ottla:
    def run(*arguments: str, typed: str | None = None) -> tuple[int, str, str]:
        stdin = io.StringIO(typed or "")
        monkeypatch.setattr(stdin, "isatty", lambda: typed is not None)
        monkeypatch.setattr("sys.stdin", stdin)
        code = run_cli(["acl", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


ALICE = ("--allow-principal", "User:alice")
READS = (*ALICE, "--operation", "Read", "--topic", "orders")


def test_a_host_that_never_matches_is_added_with_a_warning(cluster: Cluster, ottla: Ottla) -> None:
    code, _, err = ottla("add", *READS, "--allow-host", "host")
    assert (code, [one.host for one in cluster.added]) == (0, ["host"])
    assert err == (
        "ottla: warning: host host never matches: ACLs know addresses and ranges of them, such as "
        "10.0.0.0/8, but no names\n"
    )


def test_all_are_listed_or_those_of_somebody(cluster: Cluster, ottla: Ottla) -> None:
    code, out, _ = ottla("list")
    assert (code, out.splitlines(), cluster.asked) == (0, TABLE, [Filter()])
    ottla("list", "--topic", "orders", "--resource-pattern-type", "match", "--principal", "User:b")
    assert cluster.asked[1:] == [Filter(2, "orders", 2, "User:b")]
    cluster.there = []
    assert ottla("list", "--json") == (0, "", "no ACLs found\n")


def test_nothing_goes_unasked(cluster: Cluster, ottla: Ottla) -> None:
    code, out, err = ottla("delete", *READS)
    assert (code, out) == (2, "") and "add --force" in err
    code, out, err = ottla("delete", *READS, typed="n\n")
    assert code == 130 and TABLE[1] in err and cluster.removed == []
    code, out, err = ottla("delete", *READS, typed="y\n")
    assert (code, out.splitlines()) == (0, TABLE)
    assert cluster.removed == [Filter(*READ)]


def test_what_is_not_there_cannot_go(cluster: Cluster, ottla: Ottla) -> None:
    cluster.there = []
    code, out, err = ottla("delete", *READS, "--force")
    assert (code, out) == (1, "") and err.startswith("ottla: no ACL is just so")


def test_words_that_do_not_fit_are_one_line(cluster: Cluster, ottla: Ottla) -> None:
    code, out, err = ottla("add", *ALICE)
    assert (code, out) == (2, "")
    assert err.startswith("ottla: name what the ACLs are about") and err.count("\n") == 1
