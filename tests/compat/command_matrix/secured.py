"""The rows of the matrix of commands that need more than a broker: users, ACLs, folders, profiles.

The cluster judges by Kafka's StandardAuthorizer, its anonymous user is a super user, and its data
folder lies on this machine.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from controller.metadata.version import METADATA_VERSION, level_name
from tests.compat.command_matrix.matrix import NOBODY, Matrix
from tests.compat.ottla_command import Ottla

AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""Configs of a peer on which `acls` runs."""

WRONG = (
    ["user", "add"],
    ["user", "add", "TOPIC", "--mechanism", "PLAIN", "--password", "x"],
    ["user", "add", "TOPIC", "--password", "x", "--iterations", "1"],
    ["acl", "add", "--topic", "TOPIC"],
    ["acl", "add", "--allow-principal", "alice", "--operation", "Read", "--topic", "TOPIC"],
    ["acl", "add", "--allow-principal", "User:alice", "--operation", "Fly", "--topic", "TOPIC"],
    ["dump-log"],
    ["dump-log", "/no/such/folder"],
    ["profile", "add", "TOPIC"],
    ["migrate", "chek"],
    ["migrate", "check", "--no-such"],
)
REFUSED = (
    ["user", "list", "nobody"],
    ["user", "delete", "nobody"],
    ["acl", "delete", "--topic", "TOPIC"],
)
ASKING = (["user", "list"], ["acl", "list"], ["migrate", "check"])


def users(matrix: Matrix) -> None:
    """A user of SCRAM, as kafka-configs shows them."""
    name = matrix.topic
    words = ("--describe", "--entity-type", "users", "--entity-name", name)
    matrix.ottla("user", "add", name, "--mechanism", "SCRAM-SHA-256", data=b"secret\n")
    shown = "SCRAM-SHA-256=iterations=4096"
    matrix.until(lambda: shown in matrix.tools("kafka-configs", *words).stdout)
    found = matrix.ottla.objects("user", "list", name)
    matrix.check(
        "user list", found, [{"user": name, "mechanism": "SCRAM-SHA-256", "iterations": 4096}]
    )
    matrix.check("plain", name in matrix.ottla("user", "list").decode(), True)
    matrix.ottla("user", "delete", name)
    matrix.until(lambda: "SCRAM" not in matrix.tools("kafka-configs", *words).stdout)


def acls(matrix: Matrix) -> None:
    """ACLs of a topic, as kafka-acls lists them."""
    topic = matrix.topic
    add = ("acl", "add", "--topic", topic)
    matrix.ottla(*add, "--allow-principal", "User:ann", "--producer")
    matrix.ottla(*add, "--deny-principal", "User:bob", "--deny-host", "10.0.0.1")
    theirs: list[tuple[str, ...]] = []

    def same() -> bool:
        told = matrix.tools("kafka-acls", "--list", "--topic", topic).stdout
        line = r"principal=(.+), host=(.+), operation=(\w+), permissionType=(\w+)"
        theirs[:] = sorted(re.findall(line, told))
        return len(theirs) == len(found)

    found = matrix.ottla.objects("acl", "list", "--topic", topic)
    matrix.until(same)
    keys = ("principal", "host", "operation", "permission")
    matrix.check("acl list", sorted(tuple(str(o[key]) for key in keys) for o in found), theirs)
    matrix.check("plain", "User:bob" in matrix.ottla("acl", "list").decode(), True)
    matrix.ottla("acl", "delete", "--topic", topic, "--force")
    matrix.until(lambda: not matrix.ottla("acl", "list", "--topic", topic).decode())
    told = matrix.tools("kafka-acls", "--list", "--topic", topic).stdout
    matrix.check("acl delete", topic in told, False)


def folders(matrix: Matrix, data_dir: Path) -> None:
    """What lies in the folder of a partition, as kafka-dump-log prints it."""
    folder = data_dir / f"{matrix.topic}-1"
    segment = next(iter(sorted(folder.glob("*.log"))))
    told = matrix.tools.run("kafka-dump-log", "--files", str(segment), "--print-data-log").lines
    line = r"offset: (\d+) CreateTime: (\d+) .* key: (\w+) payload: (\w+)"
    theirs = [found.groups() for one in told if (found := re.search(line, one))]
    records = [
        one
        for one in matrix.ottla.objects("dump-log", str(folder), "--records")
        if one["kind"] == "record"
    ]
    keys = ("offset", "CreateTime", "key", "payload")
    matrix.check("dump-log", [tuple(str(one[key]) for key in keys) for one in records], theirs)
    plain = matrix.ottla("dump-log", str(segment), "--records", "--ms").decode().splitlines()
    ours = [found.groups() for one in plain if (found := re.search(line, one))]
    matrix.check("dump-log, plain", (ours, len(ours)), (theirs, 2))


def migration(matrix: Matrix, *, is_ready: bool) -> None:
    """Compare the verdict of `migrate check` and its levels with what kafka-features prints."""
    code = 0 if is_ready else 1
    *findings, verdict = map(
        json.loads, matrix.ottla("migrate", "check", "--json", code=code).splitlines()
    )
    matrix.check("migrate check", verdict["ready"], is_ready)
    severities = [finding["severity"] for finding in findings]
    counts = {severity: severities.count(severity) for severity in verdict["counts"]}
    matrix.check("migrate check, counts", verdict["counts"], counts)
    if not is_ready:
        whats = [finding["what"] for finding in findings if finding["severity"] == "REFUSED"]
        matrix.check("migrate check, age", any(" before Apache Kafka" in w for w in whats), True)
    told = matrix.tools("kafka-features", "describe").stdout
    theirs = dict(re.findall(r"Feature: (\S+).*FinalizedVersionLevel: (\S+)", told))
    ours = {
        name: level_name(level) if name == METADATA_VERSION else str(level)
        for name, level in verdict["features"].items()
    }
    matrix.check("features", ours, {name: one for name, one in theirs.items() if one != "0"})
    plain = matrix.ottla("migrate", "check", code=code).decode().splitlines()
    matrix.check(
        "migrate check, plain", plain[-1].partition(":")[0], "ready" if is_ready else "not ready"
    )


def profiles(matrix: Matrix) -> None:
    """Commands talk to the cluster of the profile in use."""
    cluster = matrix.ottla.env["OTTLA_BOOTSTRAP_SERVERS"]
    with tempfile.TemporaryDirectory() as home:
        ottla = Ottla(cluster)
        ottla.env["XDG_CONFIG_HOME"] = home
        del ottla.env["OTTLA_BOOTSTRAP_SERVERS"]
        ottla("profile", "add", "this", "--bootstrap-server", cluster)
        ottla("profile", "add", "none", "--bootstrap-server", NOBODY)
        listed = {one["profile"]: one["used"] for one in ottla.objects("profile", "list")}
        matrix.check("profile list", {one for one, used in listed.items() if used}, {"this"})
        matrix.check("profile", matrix.topic in ottla("topic", "list").decode(), True)
        ottla("profile", "use", "none")
        matrix.one_line(["topic", "list"], 2, ottla)
        matrix.one_line(["profile", "use", "nobody"], 2, ottla)
        matrix.one_line(["profile", "remove", "nobody"], 2, ottla)
        ottla("profile", "remove", "none")
        matrix.check("profile remove", b"none" in ottla("profile", "list"), False)


def errors(matrix: Matrix) -> None:
    """Wrong, refused and unreachable."""
    for words in WRONG:
        matrix.one_line(words, 2)
    for words in REFUSED:
        matrix.one_line(words, 1)
    for words in ASKING:
        matrix.one_line(words, 2, Ottla(NOBODY))
