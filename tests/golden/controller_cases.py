"""What the controller answers: requests with their answers as Apache Kafka gave them.

`python -m tests.golden.controller_cases` records `controller_answers_kafka.json` anew from a
real broker; `tests/unit/controller/requests/test_controller_apis.py` gives the same requests to
Ottla's controller and compares. The requests build on each other: order matters.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from protocol.message import as_dict
from protocol.messages.alter_configs import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.alter_configs import AlterConfigsResource as ReplacedResource
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "controller_answers_kafka.json"

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
UNKNOWN_ID = bytes(range(16))

Case = tuple[str, Any, int]


def _create(*topics: CreatableTopic, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(list(topics), 30_000, validate_only)


def _assigned(name: str, *replicas: list[int], first: int = 0, **more: int) -> CreatableTopic:
    assignments = [CreatableReplicaAssignment(i, r) for i, r in enumerate(replicas, first)]
    fields = {"num_partitions": -1, "replication_factor": -1, **more}
    return CreatableTopic(name, assignments=assignments, **fields)


def _configured(name: str, **configs: str | None) -> CreatableTopic:
    pairs = [CreatableTopicConfig(k.replace("_", "."), v) for k, v in configs.items()]
    return CreatableTopic(name, 1, 1, configs=pairs)


def _create_cases() -> list[Case]:
    new = CreatableTopic
    twice = [CreatableReplicaAssignment(0, [1]), CreatableReplicaAssignment(0, [1])]
    return [
        ("create", _create(new("foo", 3, 1)), 7),
        ("create again", _create(new("foo", 3, 1)), 7),
        ("create v2", _create(new("old", 1, 1)), 2),
        ("create v4 with defaults", _create(new("defaults-4", -1, -1)), 4),
        ("create v5", _create(new("five", 2, 1)), 5),
        ("create with defaults", _create(new("defaults", -1, -1)), 7),
        ("validate only", _create(new("never", 2, 1), validate_only=True), 7),
        ("empty name", _create(new("", 1, 1)), 7),
        ("dot", _create(new(".", 1, 1)), 7),
        ("two dots", _create(new("..", 1, 1)), 7),
        ("bad characters", _create(new("a b", 1, 1)), 7),
        ("long name", _create(new("x" * 250, 1, 1)), 7),
        ("longest name", _create(new("x" * 249, 1, 1)), 7),
        ("cluster metadata", _create(new("__cluster_metadata", 1, 1)), 7),
        ("dotted", _create(new("a.b", 1, 1)), 7),
        ("collision", _create(new("a_b", 1, 1)), 7),
        ("duplicate", _create(new("dup", 1, 1), new("dup", 1, 1), new("other", 1, 1)), 7),
        ("too many replicas", _create(new("r3", 1, 3)), 7),
        ("zero replicas", _create(new("r0", 1, 0)), 7),
        ("negative replicas", _create(new("r-2", 1, -2)), 7),
        ("zero partitions", _create(new("p0", 0, 1)), 7),
        ("negative partitions", _create(new("p-2", -2, 1)), 7),
        ("many partitions", _create(new("p10001", 10_001, 1)), 7),
        ("assigned", _create(_assigned("assigned", [1], [1])), 7),
        ("assigned with a count", _create(_assigned("ac", [1], num_partitions=1)), 7),
        ("assigned with a factor", _create(_assigned("af", [1], replication_factor=1)), 7),
        ("assigned to nobody", _create(_assigned("an", [])), 7),
        ("assigned to a stranger", _create(_assigned("as", [9])), 7),
        ("assigned twice", _create(_assigned("at", [1, 1])), 7),
        ("assigned unevenly", _create(_assigned("au", [1], [1, 2])), 7),
        ("assigned from 1", _create(_assigned("a1", [1], first=1)), 7),
        ("one partition twice", _create(new("o2", -1, -1, twice)), 7),
        ("configs", _create(_configured("conf", retention_ms="1000", cleanup_policy="compact")), 7),
        ("unknown config", _create(_configured("uc", no_such="1")), 7),
        ("bad config", _create(_configured("bc", retention_ms="abc")), 7),
        ("config out of range", _create(_configured("cr", retention_ms="-2")), 7),
        ("null config", _create(_configured("nc", retention_ms=None)), 7),
        ("bad cleanup policy", _create(_configured("bp", cleanup_policy="shred")), 7),
        ("remote storage", _create(_configured("rs", remote_storage_enable="true")), 7),
    ]  # fmt: skip


def _grow(name: str, count: int, *replicas: list[int], validate_only: bool = False) -> Any:
    assignments = [CreatePartitionsAssignment(r) for r in replicas] or None
    topic = CreatePartitionsTopic(name, count, assignments)
    return CreatePartitionsRequest([topic], 30_000, validate_only)


def _growth_cases() -> list[Case]:
    pair = [CreatePartitionsTopic("foo", 9, None), CreatePartitionsTopic("foo", 9, None)]
    return [
        ("grow", _grow("foo", 5), 3),
        ("grow v0", _grow("old", 2), 0),
        ("grow, validate only", _grow("foo", 9, validate_only=True), 3),
        ("grow to the same", _grow("foo", 5), 3),
        ("shrink", _grow("foo", 2), 3),
        ("grow nothing", _grow("no-such", 2), 3),
        ("grow assigned", _grow("foo", 6, [1]), 3),
        ("grow, too few assigned", _grow("foo", 9, [1]), 3),
        ("grow, a stranger", _grow("foo", 7, [9]), 3),
        ("grow, nobody", _grow("foo", 7, []), 3),
        ("grow, too many replicas", _grow("foo", 7, [1, 2]), 3),
        ("grow, twice the same", _grow("five", 3, [1, 1]), 3),
        ("grow twice", CreatePartitionsRequest(pair, 30_000, False), 3),
        ("grow to a negative", _grow("foo", -1), 3),
    ]


def _change(kind: int, name: str, *changes: tuple[str, int, str | None], only: bool = False) -> Any:
    configs = [AlterableConfig(*change) for change in changes]
    return IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)], only)


def _replace(kind: int, name: str, **configs: str | None) -> Any:
    pairs = [ReplacedConfig(k.replace("_", "."), v) for k, v in configs.items()]
    return AlterConfigsRequest([ReplacedResource(kind, name, pairs)], False)


def _config_cases() -> list[Case]:
    retention = ("retention.ms", SET, "1")
    names = ("metrics", SET, "org.apache")
    twice = AlterConfigsResource(TOPIC, "foo", [AlterableConfig(*retention)])
    return [
        ("set", _change(TOPIC, "foo", ("retention.ms", SET, "1000")), 1),
        ("set v0", _change(TOPIC, "foo", ("retention.ms", SET, "1001")), 0),
        ("set, validate only", _change(TOPIC, "foo", ("retention.ms", SET, "x"), only=True), 1),
        ("delete", _change(TOPIC, "foo", ("retention.ms", DELETE, None)), 1),
        ("append", _change(TOPIC, "foo", ("cleanup.policy", APPEND, "compact")), 1),
        ("append again", _change(TOPIC, "foo", ("cleanup.policy", APPEND, "compact")), 1),
        ("subtract", _change(TOPIC, "foo", ("cleanup.policy", SUBTRACT, "delete")), 1),
        ("append to no list", _change(TOPIC, "foo", ("retention.ms", APPEND, "1")), 1),
        ("subtract from no list", _change(TOPIC, "foo", ("retention.ms", SUBTRACT, "1")), 1),
        ("append nonsense", _change(TOPIC, "foo", ("cleanup.policy", APPEND, "shred")), 1),
        ("set null", _change(TOPIC, "foo", ("retention.ms", SET, None)), 1),
        ("set nonsense", _change(TOPIC, "foo", ("retention.ms", SET, "abc")), 1),
        ("set an unknown key", _change(TOPIC, "foo", ("no.such", SET, "1")), 1),
        ("key twice", _change(TOPIC, "foo", retention, ("retention.ms", SET, "2")), 1),
        ("unknown topic", _change(TOPIC, "no-such", ("retention.ms", SET, "1")), 1),
        ("bad topic name", _change(TOPIC, "a b", ("retention.ms", SET, "1")), 1),
        ("resource twice", IncrementalAlterConfigsRequest([twice, twice], False), 1),
        ("unknown resource", _change(99, "x", ("k", SET, "1")), 1),
        ("client metrics", _change(CLIENT_METRICS, "cm", ("interval.ms", SET, "1000"), names), 1),
        ("client metrics, append", _change(CLIENT_METRICS, "cm", ("metrics", APPEND, "other")), 1),
        ("client metrics, interval", _change(CLIENT_METRICS, "cm", ("interval.ms", SET, "10")), 1),
        ("client metrics, nonsense", _change(CLIENT_METRICS, "cm", ("interval.ms", SET, "x")), 1),
        ("client metrics, unknown", _change(CLIENT_METRICS, "cm", ("foo", SET, "x")), 1),
        ("client metrics, match", _change(CLIENT_METRICS, "cm", ("match", SET, "client_id=a")), 1),
        ("client metrics, bad match", _change(CLIENT_METRICS, "cm", ("match", SET, "foo=a")), 1),
        ("client metrics, no equals", _change(CLIENT_METRICS, "cm", ("match", SET, "foo")), 1),
        ("replace", _replace(TOPIC, "foo", retention_ms="7000"), 2),
        ("replace v0", _replace(TOPIC, "foo", retention_ms="7001"), 0),
        ("replace null", _replace(TOPIC, "foo", retention_ms=None), 2),
        ("replace nonsense", _replace(TOPIC, "foo", retention_ms="abc"), 2),
        ("replace in an unknown topic", _replace(TOPIC, "no-such", retention_ms="1"), 2),
        ("replace an unknown key", _replace(TOPIC, "foo", no_such="1"), 2),
    ]  # fmt: skip


def _delete(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest([DeleteTopicState(n) for n in names], list(names), 30_000)


def _deletion_cases() -> list[Case]:
    def by_state(*states: DeleteTopicState) -> DeleteTopicsRequest:
        return DeleteTopicsRequest(list(states), timeout_ms=30_000)

    return [
        ("delete v1", _delete("old"), 1),
        ("delete v4 twice the same", _delete("five", "five"), 4),
        ("delete v5 unknown", _delete("no-such"), 5),
        ("delete v6", _delete("five"), 6),
        ("delete unknown", _delete("no-such"), 6),
        ("delete an unknown id", by_state(DeleteTopicState(None, UNKNOWN_ID)), 6),
        ("delete neither", by_state(DeleteTopicState(None)), 6),
        ("delete both", by_state(DeleteTopicState("foo", UNKNOWN_ID)), 6),
        ("delete one and miss one", _delete("foo", "no-such"), 6),
        ("delete metadata", _delete("__cluster_metadata"), 6),
    ]


def _user(name: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(name, mechanism, iterations, b"salt", b"p" * 32)


def _users(
    *upsertions: ScramCredentialUpsertion, gone: tuple[tuple[str, int], ...] = ()
) -> AlterUserScramCredentialsRequest:
    deletions = [ScramCredentialDeletion(*one) for one in gone]
    return AlterUserScramCredentialsRequest(deletions, list(upsertions))


def _described(*names: str) -> DescribeUserScramCredentialsRequest:
    return DescribeUserScramCredentialsRequest([UserName(name) for name in names])


def _scram_cases() -> list[Case]:
    several = _users(
        *(_user("b"), _user("a"), _user("c", 2, 1), _user("d", 9), _user("both", 2)),
        gone=(("max", 1), ("max-2", 2), ("", 1)),
    )
    return [
        ("no users", DescribeUserScramCredentialsRequest(None), 0),
        ("no users changed", _users(), 0),
        ("user", _users(_user("u")), 0),
        ("too few iterations", _users(_user("x", 1, 4095)), 0),
        ("negative iterations", _users(_user("x", 1, -1)), 0),
        ("most iterations", _users(_user("max", 1, 16384)), 0),
        ("too many iterations", _users(_user("x", 1, 16385)), 0),
        ("user without a name", _users(_user("")), 0),
        ("delete a user without a name", _users(gone=(("", 1),)), 0),
        *((f"mechanism {n}", _users(_user("x", n)), 0) for n in (-128, -1, 0, 3, 127)),
        ("delete by mechanism 3", _users(gone=(("u", 3),)), 0),
        ("nothing is right", _users(_user("", 3, 1)), 0),
        ("wrong mechanism and iterations", _users(_user("x", 3, 1)), 0),
        ("no name and too few iterations", _users(_user("", 1, 1)), 0),
        ("delete a user that is not there", _users(gone=(("nobody", 1),)), 0),
        ("delete another mechanism", _users(gone=(("u", 2),)), 0),
        ("user with two mechanisms at once", _users(_user("x"), _user("x", 2)), 0),
        ("user three times", _users(_user("x"), _user("x"), _user("x")), 0),
        ("deleted and set", _users(_user("u"), gone=(("u", 1),)), 0),
        ("deleted, and set wrongly", _users(_user("u", 3, 1), gone=(("u", 1),)), 0),
        ("deleted twice", _users(gone=(("u", 1), ("u", 1))), 0),
        ("not there, deleted twice", _users(gone=(("nobody", 1), ("nobody", 2))), 0),
        ("not there, deleted and set", _users(_user("nobody"), gone=(("nobody", 1),)), 0),
        ("wrong, then right", _users(_user("x", 3), _user("x")), 0),
        ("right, then wrong", _users(_user("x"), _user("x", 3)), 0),
        ("too few, then right", _users(_user("x", 1, 1), _user("x")), 0),
        ("several users", several, 0),
        ("second mechanism", _users(_user("u", 2, 5000)), 0),
        ("all users", DescribeUserScramCredentialsRequest(None), 0),
        ("all users by an empty list", _described(), 0),
        ("some users", _described("u", "a", "nobody", "a", "", "nobody", "b"), 0),
        ("other iterations", _users(_user("u", 1, 6000)), 0),
        ("other iterations shown", _described("u"), 0),
        ("delete one mechanism", _users(gone=(("u", 1),)), 0),
        ("the other is left", _described("u"), 0),
        ("delete the other", _users(gone=(("u", 2),)), 0),
        ("none is left", _described("u"), 0),
    ]  # fmt: skip


def cases() -> list[Case]:
    """(name, request, version) in their order."""
    return [
        *_create_cases(),
        *_growth_cases(),
        *_config_cases(),
        *_deletion_cases(),
        *_scram_cases(),
    ]


def comparable(answer: Any) -> Any:
    """An answer as plain values; ids that are drawn become true."""
    return _plain(as_dict(answer))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        plain = {key: _plain(item) for key, item in value.items() if key != "throttle_time_ms"}
        if isinstance(plain.get("configs"), list):
            plain["configs"].sort(key=lambda config: config["name"])
        if "credential_infos" in plain:
            plain["credential_infos"].sort(key=lambda info: info["mechanism"])
        return plain
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex() if value in (bytes(16), UNKNOWN_ID) else True
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def sorted_answer(answer: Any) -> Any:
    """With the parts in an order of their own: Kafka's follows a hash map."""
    for items in answer.values():
        if isinstance(items, list):
            items.sort(key=lambda item: json.dumps(item, sort_keys=True))
    return answer


def ask(port: int, request: Any, version: int) -> Any:
    """The answer of a broker on this machine."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(encode_request(request, version, 7, "recorder"))
        stream = connection.makefile("rb")
        frame = stream.read(int.from_bytes(stream.read(4), "big"))
    return decode_response(ApiKey(request.API_KEY), memoryview(frame), version)[1]


def record() -> None:
    """Ask a real broker."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    answers = {}
    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:
        for name, request, version in cases():
            answer = sorted_answer(comparable(ask(kafka.port, request, version)))
            assert name not in answers, name
            answers[name] = answer
    write_json(RECORDED, answers, sort_keys=True)


if __name__ == "__main__":
    record()
