"""Random sequences: a theme, its APIs by weight, in any version that both brokers serve.

A sequence follows from its seed and number alone. Most steps are what a client would send, one in
six has one odd value. Owns the weights; the bodies are made in `bodies_of_…`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from tests.differential import (
    bodies_of_admin,
    bodies_of_data,
    bodies_of_groups,
    bodies_of_share_groups,
    bodies_of_shares,
    bodies_of_transactions,
    values,
)
from tests.differential.odd_values import can_be_sent, with_one_odd_value
from tests.differential.sequence import Sequence, Step

Versions = dict[str, tuple[int, int]]
ODD_SHARE = 0.16
BODIES = {
    **bodies_of_data.BODIES,
    **bodies_of_groups.BODIES,
    **bodies_of_transactions.BODIES,
    **bodies_of_shares.BODIES,
    **bodies_of_share_groups.BODIES,
    **bodies_of_admin.BODIES,
}
DATA = {
    **{"PRODUCE": 30, "FETCH": 30, "LIST_OFFSETS": 10, "DELETE_RECORDS": 6, "METADATA": 6},
    **{"CREATE_TOPICS": 5, "CREATE_PARTITIONS": 3, "DELETE_TOPICS": 2, "INIT_PRODUCER_ID": 4},
    **{"OFFSET_FOR_LEADER_EPOCH": 4, "DESCRIBE_PRODUCERS": 2, "INCREMENTAL_ALTER_CONFIGS": 2},
    **{"DESCRIBE_TOPIC_PARTITIONS": 2},
}
GROUPS = {
    **{"JOIN_GROUP": 30, "SYNC_GROUP": 18, "HEARTBEAT": 10, "LEAVE_GROUP": 6, "OFFSET_COMMIT": 12},
    **{"OFFSET_FETCH": 8, "DESCRIBE_GROUPS": 6, "LIST_GROUPS": 4, "DELETE_GROUPS": 3},
    **{"OFFSET_DELETE": 4, "FIND_COORDINATOR": 2, "TXN_OFFSET_COMMIT": 2, "DELETE_TOPICS": 1},
}
TRANSACTIONS = {
    **{"INIT_PRODUCER_ID": 14, "ADD_PARTITIONS_TO_TXN": 16, "PRODUCE": 26, "END_TXN": 18},
    **{"ADD_OFFSETS_TO_TXN": 6, "TXN_OFFSET_COMMIT": 8, "FETCH": 8, "LIST_OFFSETS": 4},
    **{"DESCRIBE_TRANSACTIONS": 4, "LIST_TRANSACTIONS": 3, "DESCRIBE_PRODUCERS": 4},
    **{"OFFSET_FETCH": 3, "WRITE_TXN_MARKERS": 3, "DELETE_RECORDS": 1, "OFFSET_COMMIT": 2},
}
ADMIN = {
    **{"CREATE_TOPICS": 14, "CREATE_PARTITIONS": 8, "DELETE_TOPICS": 8, "METADATA": 8},
    **{"DESCRIBE_CONFIGS": 10, "ALTER_CONFIGS": 8, "INCREMENTAL_ALTER_CONFIGS": 14},
    **{"DESCRIBE_CLUSTER": 2, "DESCRIBE_LOG_DIRS": 3, "ALTER_REPLICA_LOG_DIRS": 3},
    **{"ELECT_LEADERS": 4, "ALTER_PARTITION_REASSIGNMENTS": 4, "LIST_PARTITION_REASSIGNMENTS": 2},
    **{"DESCRIBE_QUORUM": 2, "UPDATE_FEATURES": 2, "UNREGISTER_BROKER": 1, "API_VERSIONS": 2},
    **{"LIST_CONFIG_RESOURCES": 3, "DESCRIBE_TOPIC_PARTITIONS": 4, "PRODUCE": 4, "FETCH": 2},
    **{"FIND_COORDINATOR": 2, "LIST_GROUPS": 1, "LIST_TRANSACTIONS": 1},
    **{"ALTER_USER_SCRAM_CREDENTIALS": 4, "DESCRIBE_USER_SCRAM_CREDENTIALS": 3},
    **{"DESCRIBE_CLIENT_QUOTAS": 1, "ALTER_CLIENT_QUOTAS": 1},
    **{"ADD_RAFT_VOTER": 1, "REMOVE_RAFT_VOTER": 1, "UNREGISTER_CONTROLLER": 1},
}
SHARES = {
    **{"INITIALIZE_SHARE_GROUP_STATE": 8, "WRITE_SHARE_GROUP_STATE": 20, "CREATE_TOPICS": 2},
    **{"READ_SHARE_GROUP_STATE": 12, "READ_SHARE_GROUP_STATE_SUMMARY": 8, "METADATA": 2},
    **{"DELETE_SHARE_GROUP_STATE": 2, "CREATE_PARTITIONS": 1},
}
SHARE_GROUPS = {
    **{"SHARE_GROUP_HEARTBEAT": 20, "SHARE_GROUP_DESCRIBE": 6, "SHARE_FETCH": 24},
    **{"SHARE_ACKNOWLEDGE": 12, "DESCRIBE_SHARE_GROUP_OFFSETS": 6, "ALTER_SHARE_GROUP_OFFSETS": 6},
    **{"DELETE_SHARE_GROUP_OFFSETS": 4, "PRODUCE": 8, "DELETE_GROUPS": 2, "LIST_GROUPS": 3},
    **{"DESCRIBE_GROUPS": 2, "JOIN_GROUP": 1, "OFFSET_COMMIT": 1, "DELETE_TOPICS": 1},
    **{"CONSUMER_GROUP_HEARTBEAT": 1, "DELETE_RECORDS": 1, "OFFSET_FETCH": 1},
}
EVERYTHING = dict.fromkeys(BODIES, 1)
THEMES = (
    *(DATA, DATA, GROUPS, GROUPS, TRANSACTIONS, TRANSACTIONS, ADMIN, SHARES),
    *(SHARE_GROUPS, EVERYTHING),
)


def random_sequences(
    seed: int, numbers: Iterable[int], length: int, versions: Versions
) -> Iterator[Sequence]:
    """The sequences of these numbers."""
    return (random_sequence(seed, number, length, versions) for number in numbers)


def random_sequence(seed: int, number: int, length: int, versions: Versions) -> Sequence:
    """Sequence `number` of `seed`: the same at every call with the same versions."""
    rng = random.Random(f"{seed} {number}")
    theme = {api: weight for api, weight in rng.choice(THEMES).items() if api in versions}
    steps = _first_steps(rng, versions)
    while len(steps) < length:
        api = rng.choices(list(theme), list(theme.values()))[0]
        step = random_step(rng, api, rng.randint(*versions[api]))
        if step is not None:
            steps.append(step)
    return Sequence(f"seed {seed} sequence {number}", steps)


def random_step(rng: random.Random, api: str, version: int, odd: float = ODD_SHARE) -> Step | None:
    """A request of this API and version; None where what was drawn cannot be sent in it."""
    body, connection = BODIES[api](rng, version)
    if connection is None:
        connection = rng.choice(values.MEMBERS)
    step = Step(api, version, body, connection)
    if rng.random() < odd:
        step = with_one_odd_value(rng, step)
    return step if can_be_sent(step) else None


def _first_steps(rng: random.Random, versions: Versions) -> list[Step]:
    """Topics to work with, in most sequences."""
    if rng.random() < 0.1:
        return []
    version = rng.randint(*versions["CREATE_TOPICS"])
    topics = [{"name": "~t0", "num_partitions": 2, "replication_factor": 1}]
    if rng.random() < 0.5:
        topics.append({"name": "~t1", "num_partitions": 1, "replication_factor": 1})
    if rng.random() < 0.3:
        name, value = rng.choice((
            ("cleanup.policy", "compact"),
            ("message.timestamp.type", "LogAppendTime"),
            ("compression.type", "gzip"),
            ("max.message.bytes", "300"),
        ))  # fmt: skip
        topics[0]["configs"] = [{"name": name, "value": value}]
    return [Step("CREATE_TOPICS", version, {"topics": topics, "timeout_ms": 30_000})]
