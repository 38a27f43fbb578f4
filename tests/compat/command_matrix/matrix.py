"""The rows of the matrix of commands: topics, records, groups, configs, quotas, health.

Each row is a command, plain and with --json, and the exit code that it has to have. What the same
question gives of Kafka's own tools (of the reference, against each peer) is compared where there is
such a question. A refusal, or wrong input, is one line on standard error and nothing on standard
output.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Consumer

from tests.compat.ottla_command import WITHIN_S, Ottla
from tests.tools.kafka_tools import KafkaTools
from tests.tools.waiting import wait_until

NOBODY = "127.0.0.1:1"
"""Where no broker listens."""

WRONG = (
    ["topic", "list", "--no-such"],
    ["topic", "liste"],
    ["topic", "create"],
    ["topic", "create", "TOPIC-2", "-p", "many"],
    ["topic", "create", "TOPIC-2", "-c", "retention.ms"],
    ["topic", "alter", "TOPIC"],
    ["topic", "delete", "TOPIC"],
    ["produce"],
    ["produce", "TOPIC", "--compression", "rar"],
    ["produce", "TOPIC", "/no/such/file"],
    ["produce", "TOPIC", "-H", "novalue"],
    ["consume"],
    ["consume", "TOPIC", "--from", "yesterday"],
    ["consume", "TOPIC", "--grep", "("],
    ["group", "describe"],
    ["group", "reset", "GROUP", "--to", "start"],
    ["group", "reset", "GROUP", "--to", "soon", "--all-topics"],
    ["group", "reset", "GROUP", "--to", "start", "--topic", "TOPIC:x"],
    ["config", "show"],
    ["config", "set", "--topic", "TOPIC"],
    ["config", "explain", "no.such.key.at.all"],
    ["quota", "set", "--user", "a", "no_such_rate=1"],
    ["quota", "set", "--user", "a", "producer_byte_rate=fast"],
    ["top", "-n", "some"],
    ["status", "--no-such"],
    ["completion", "csh"],
)
"""Commands that are wrong in themselves: exit code 2."""

REFUSED = (
    ["topic", "create", "TOPIC"],
    ["topic", "create", "TOPIC-2", "-r", "9"],
    ["topic", "create", "TOPIC-2", "-c", "no.such=1"],
    ["topic", "describe", "TOPIC-2"],
    ["topic", "alter", "TOPIC-2", "-p", "3"],
    ["topic", "alter", "TOPIC", "retention.ms=soon"],
    ["topic", "delete", "TOPIC-2", "--force"],
    ["consume", "TOPIC-2"],
    ["group", "describe", "GROUP-2"],
    ["group", "delete", "GROUP-2", "--execute"],
    ["config", "show", "--topic", "TOPIC-2"],
    ["config", "set", "--topic", "TOPIC", "retention.ms=soon"],
    ["quota", "remove", "--user", "nobody", "producer_byte_rate"],
)
"""Commands that the cluster refuses, or that name what it has not: exit code 1."""

ASKING = (
    ["topic", "list"],
    ["topic", "describe", "TOPIC"],
    ["produce", "TOPIC"],
    ["consume", "TOPIC"],
    ["group", "list"],
    ["config", "show", "--topic", "TOPIC"],
    ["quota", "list"],
    ["top", "-n", "1"],
    ["status"],
)
"""One of each command that connects: exit code 2 where nobody listens."""


@dataclass
class Matrix:
    """The rows against one cluster. `plain` and `with_json`: which forms are run."""

    ottla: Ottla
    tools: KafkaTools
    has_consumer_groups: bool = True
    forms: tuple[bool, ...] = (False, True)
    faults: list[str] = field(default_factory=list)
    rows: int = 0

    def __post_init__(self) -> None:
        self.topic = f"matrix-{uuid.uuid4().hex[:12]}"

    def check(self, what: str, ours: object, theirs: object) -> None:
        """A comparison: a fault where the two differ."""
        self.rows += 1
        if ours != theirs:
            self.faults.append(f"{what}: {ours!r}, and not {theirs!r}")

    def named(self, words: list[str]) -> list[str]:
        """With the names of this matrix in place of TOPIC and GROUP."""
        return [one.replace("TOPIC", self.topic).replace("GROUP", self.topic) for one in words]

    def one_line(self, words: list[str], code: int, ottla: Ottla | None = None) -> None:
        """The command has to end with this code and one line on standard error."""
        asked = ottla or self.ottla
        for as_json in self.forms:
            every = [*self.named(words), *(["--json"] if as_json and _has_json(words) else [])]
            self.rows += 1
            try:
                out = asked(*every, code=code)
            except AssertionError as error:
                self.faults.append(f"{' '.join(every)}: exit code is not {code}: {error}")
                continue
            told_in_json = as_json and words[0] == "status" and code
            if (out and not told_in_json) or asked.said.count("\n") != 1:
                self.faults.append(f"{' '.join(every)}: said {out!r}, {asked.said!r}")

    # --- what is compared -------------------------------------------------------------------------

    def topics(self) -> None:
        """Topics, records and their configs."""
        topic = self.topic
        self.ottla("topic", "create", topic, "-p", "2", "-c", "retention.ms=86400000")
        self.ottla("produce", topic, "-p", "0", data=b"".join(b"v%d\n" % n for n in range(6)))
        self.ottla("produce", topic, "-p", "1", "-K", ":", data=b"a:1\nb:2\n")
        listed = {str(one["topic"]): one for one in self.ottla.objects("topic", "list")}
        self.check(
            "topic list", topic in listed, topic in self.tools("kafka-topics", "--list").lines
        )
        self.check("topic list, plain", topic in self.ottla("topic", "list").decode(), True)
        self.check("records", listed[topic]["records"], sum(self.tools.offsets(topic, "latest")))
        self._compare_partitions()
        console = ("--topic", topic, "--from-beginning", "--max-messages", "8")
        theirs = self.tools("kafka-console-consumer", *console, "--timeout-ms", "15000").lines
        self.check("consume", sorted(self.ottla("consume", topic).decode().split()), sorted(theirs))
        found = self.ottla.objects("consume", topic, "-p", "1")
        self.check(
            "consume --json",
            [(one["key"], one["value"]) for one in found],
            [("a", "1"), ("b", "2")],
        )
        self.ottla("topic", "alter", topic, "cleanup.policy=compact", "-p", "3")
        self._compare_partitions()
        self._compare_configs()

    def _compare_partitions(self) -> None:
        (found,) = self.ottla.objects("topic", "describe", self.topic)
        told = self.tools("kafka-topics", "--describe", "--topic", self.topic).lines
        theirs = []
        for line in told[1:]:
            pairs = (part.split(": ", 1) for part in line.strip().split("\t"))
            words = {pair[0].strip(): pair[-1].strip() for pair in pairs}
            theirs.append((int(words["Partition"]), int(words["Leader"]), words["Replicas"]))
        partitions = found["partitions"]
        assert isinstance(partitions, list)
        ours = [
            (one["partition"], one["leader"], ",".join(map(str, one["replicas"])))
            for one in partitions
        ]
        self.check("topic describe", ours, theirs)
        self.check(
            "plain", f"{self.topic}" in self.ottla("topic", "describe", self.topic).decode(), True
        )

    def _compare_configs(self) -> None:
        words = ("--entity-type", "topics", "--entity-name", self.topic)
        told = self.tools("kafka-configs", "--describe", *words).stdout
        theirs = {one for one in ("cleanup.policy=compact", "retention.ms=86400000") if one in told}
        found = self.ottla.objects("config", "show", "--topic", self.topic)
        self.check("config show", {f"{one['key']}={one['value']}" for one in found}, theirs)
        self.ottla("config", "set", "--topic", self.topic, "--unset", "cleanup.policy")
        told = self.tools("kafka-configs", "--describe", *words).stdout
        self.check("config set --unset", "cleanup.policy" in told, False)

    def quotas(self) -> None:
        """Quotas of a user, as kafka-configs shows them."""
        user = self.topic
        self.ottla("quota", "set", "--user", user, "producer_byte_rate=10MB")
        words = ("--describe", "--entity-type", "users", "--entity-name", user)
        self.until(lambda: "producer_byte_rate=1.0E7" in self.tools("kafka-configs", *words).stdout)
        found = self.ottla.objects("quota", "list", "--user", user)
        self.check("quota list", [one["value"] for one in found], [10_000_000])
        self.ottla("quota", "remove", "--user", user)
        self.until(lambda: "producer_byte_rate" not in self.tools("kafka-configs", *words).stdout)

    def groups(self, protocol: str) -> None:
        """A group with a member and then without, of one of Kafka's two protocols."""
        group = f"{self.topic}-{protocol}"
        with member_of(self.ottla.env["OTTLA_BOOTSTRAP_SERVERS"], self.topic, group, protocol):
            (listed,) = (o for o in self.ottla.objects("group", "list") if o["group"] == group)
            theirs = self.tools("kafka-groups", "--list").lines
            (row,) = (line.split() for line in theirs if line.startswith(f"{group} "))
            self.check("group list", (listed["group"], listed["type"]), (row[0], row[1].lower()))
            self._compare_members(group, protocol)
            self.one_line(["group", "delete", group, "--execute"], 1)
            self.one_line(["group", "reset", group, "--to", "end", "--all-topics", "--execute"], 1)
        self._compare_offsets(group)
        self.ottla("group", "reset", group, "--topic", f"{self.topic}:0", "--to", "2", "--execute")
        self._compare_offsets(group)
        self.ottla("group", "delete", group, "--execute")
        theirs = self.tools("kafka-consumer-groups", "--list").lines
        self.check("group delete", group in theirs, False)

    def _compare_members(self, group: str, protocol: str) -> None:
        (found,) = self.ottla.objects("group", "describe", group)
        state = self.tools(
            "kafka-consumer-groups", "--describe", "--group", group, "--state", "--verbose"
        )
        head, row = (line.replace("ASSIGNMENT-STRATEGY", "STRATEGY") for line in state.lines[-2:])
        words = row.split()
        self.check("assignor", found["assignor"], words[3])
        self.check("state", found["state"], words[4])
        members = found["members"]
        assert isinstance(members, list)
        self.check("members", len(members), int(words[-1]))
        shown = self.tools(
            "kafka-consumer-groups", "--describe", "--group", group, "--members", "--verbose"
        )
        member = shown.lines[-1].split()
        self.check("member id", members[0]["id"], member[1])
        self.check("client id", members[0]["member"], member[3])
        self.check("partitions", sum(map(len, members[0]["assignment"].values())), int(member[4]))
        if protocol == "consumer":
            self.check("epochs", [str(found["epoch"]), str(found["target_epoch"])], words[5:7])
            self.check("epoch of the member", str(members[0]["epoch"]), member[5])
        self.check("plain", group in self.ottla("group", "describe", group, "-m").decode(), True)

    def _compare_offsets(self, group: str) -> None:
        (found,) = self.ottla.objects("group", "describe", group)
        partitions = found["partitions"]
        assert isinstance(partitions, list)
        ours = {one["partition"]: (one["committed"], one["end"], one["lag"]) for one in partitions}
        told = self.tools("kafka-consumer-groups", "--describe", "--group", group).lines
        rows = [line.split() for line in told]
        theirs = {int(r[2]): tuple(map(int, r[3:6])) for r in rows if r[:2] == [group, self.topic]}
        self.check("offsets and lag", ours, theirs)

    def cluster(self) -> None:
        """Health, what goes on, brokers' settings."""
        told = self.tools("kafka-metadata-quorum", "describe", "--status").lines
        leader = next(int(line.split()[-1]) for line in told if line.startswith("LeaderId"))
        (status,) = self.ottla.objects("status")
        quorum = status["quorum"]
        assert isinstance(quorum, dict)
        self.check("status", (status["healthy"], quorum["leader_id"]), (True, leader))
        self.check("top", any(o.get("topic") for o in self.ottla.objects("top", "-n", "1")), True)
        self.ottla("config", "set", "--broker", "all", "log.cleaner.threads=2")
        theirs = self.tools(
            "kafka-configs", "--describe", "--entity-type", "brokers", "--entity-default"
        )
        self.check("config set", "log.cleaner.threads=2" in theirs.stdout, True)
        self.ottla("config", "set", "--broker", "all", "--unset", "log.cleaner.threads")
        self.check(
            "explain",
            "retention.ms" in self.ottla("config", "explain", "retention.ms").decode(),
            True,
        )

    def errors(self, every: int = 1) -> None:
        """Wrong, refused and unreachable: of each list each `every`-th row."""
        nobody = Ottla(NOBODY)
        for words in WRONG[::every]:
            self.one_line(words, 2)
        for words in REFUSED[::every]:
            self.one_line(words, 1)
        for words in ASKING[::every]:
            self.one_line(words, 2, nobody)

    def removal(self) -> None:
        """The topic goes."""
        self.ottla("topic", "delete", self.topic, "--force")
        self.until(lambda: self.topic not in self.tools("kafka-topics", "--list").lines)

    def until(self, condition: Callable[[], bool]) -> None:
        """A change reaches the brokers' caches soon."""
        self.rows += 1
        wait_until(condition, "a change in the brokers' caches", pause_s=0.05)


def _has_json(words: list[str]) -> bool:
    return words[0] not in ("produce", "completion")


@contextmanager
def member_of(bootstrap: str, topic: str, group: str, protocol: str) -> Iterator[None]:
    """Somebody who has read and committed all of the topic, as a member of the group."""
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    reader.subscribe([topic])
    assert len(reader.consume(8, WITHIN_S)) == 8
    reader.commit(asynchronous=False)
    try:
        yield
    finally:
        reader.close()
