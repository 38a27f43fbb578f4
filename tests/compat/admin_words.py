"""`ottla user` and `ottla acl` beside Kafka's own tools: the same words, the same ACLs.

Each list of words is given to `kafka-acls` and to `ottla acl`; what a cluster then has must be the
same, and what one of them added the other removes by the same words. Commands run in this process.
Owns no cluster.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from command.cli import run_cli
from tests.tools.kafka_tools import KafkaTools
from tests.tools.waiting import wait_until

WORDS: Sequence[Sequence[str]] = (
    ("--allow-principal", "User:a", "--producer", "--topic", "t", "--transactional-id", "x")
    + ("--idempotent",),
    ("--allow-principal", "User:a", "--consumer", "--topic", "t.", "--group", "g")
    + ("--resource-pattern-type", "prefixed", "--allow-host", "10.0.0.1"),
    (
        "--allow-principal",
        "User:a",
        "--allow-principal",
        "User:CN=b,O=c",
        "--producer",
        "--consumer",
    )
    + ("--topic", "t", "--topic", "u", "--group", "*"),
    ("--deny-principal", "User:*", "--deny-host", "10.0.0.1", "--allow-principal", "User:a")
    + ("--operation", "describe", "--operation", "All", "--cluster", "--group", "g"),
    ("--allow-principal", "User:a", "--user-principal", "User:b", "--delegation-token", "id"),
)

Row = tuple[Any, ...]


def ottla(*words: str, server: str) -> tuple[int, list[dict[str, Any]], str]:
    """One command with --json: its exit code, its objects, and what it complained of."""
    said, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaints):
        code = run_cli([*words, "--json", "--bootstrap-server", server])
    return code, [json.loads(line) for line in said.getvalue().splitlines()], complaints.getvalue()


def acls_of(server: str) -> set[Row]:
    """All that a cluster has."""
    code, found, _ = ottla("acl", "list", server=server)
    assert code == 0
    return {tuple(one.values()) for one in found}


def check_acls_beside_tools(server: str, tools: KafkaTools) -> list[set[Row]]:
    """What the cluster has after each list of words, whoever gave them."""
    before = acls_of(server)
    made = []
    for words in WORDS:
        added = tools.run("kafka-acls", "--bootstrap-server", server, "--add", *words)
        assert added.exit == 0, added
        by_tool = _after(server, lambda found: found > before) - before
        code, removed, complaint = ottla("acl", "delete", *words, "--force", server=server)
        assert code == 0, complaint
        assert {tuple(one.values()) for one in removed} == by_tool
        _after(server, lambda found: found == before)
        by_ottla = check_acls(server, [words], clean=False)[0]
        assert by_ottla == by_tool, words
        gone = tools.run("kafka-acls", "--bootstrap-server", server, "--remove", "--force", *words)
        assert gone.exit == 0, gone
        _after(server, lambda found: found == before)
        made.append(by_ottla)
    return made


def check_acls(
    server: str, given: Sequence[Sequence[str]] = WORDS, *, clean: bool = True
) -> list[set[Row]]:
    """What the cluster has after each list of words that `ottla acl` was given."""
    made = []
    for words in given:
        before = acls_of(server)
        code, added, complaint = ottla("acl", "add", *words, server=server)
        assert code == 0, complaint
        rows = {tuple(one.values()) for one in added}
        assert _after(server, lambda found, wanted=before | rows: found == wanted) > before
        if clean:
            assert ottla("acl", "delete", *words, "--force", server=server)[0] == 0
            _after(server, lambda found, wanted=before: found == wanted)
        made.append(rows)
    return made


def _after(server: str, seen: Callable[..., bool]) -> set[Row]:
    """What the cluster has once its broker has heard of the change."""
    told: list[set[Row]] = []

    def is_seen() -> bool:
        told[:] = [acls_of(server)]
        return seen(told[0])

    wait_until(is_seen, "the change of ACLs")
    return told[0]


def add_user(server: str, name: str, password: str) -> None:
    """Make a user, whom the cluster then lists."""
    words = ("user", "add", name, "--password", password, "--iterations", "5000")
    code, made, complaint = ottla(*words, server=server)
    assert code == 0, complaint
    assert made == [{"user": name, "mechanism": "SCRAM-SHA-512", "iterations": 5000}]
    _listed(server, name, (0, made))


def remove_user(server: str, name: str) -> None:
    """Remove a user, whom the cluster then does not know."""
    code, gone, complaint = ottla("user", "delete", name, server=server)
    assert (code, len(gone)) == (0, 1), complaint
    _listed(server, name, (1, []))
    code, _, complaint = ottla("user", "delete", name, server=server)
    assert code == 1 and f"no such user: {name}" in complaint


def _listed(server: str, name: str, wanted: tuple[int, list[dict[str, Any]]]) -> None:
    wait_until(lambda: ottla("user", "list", name, server=server)[:2] == wanted, f"{wanted}")
