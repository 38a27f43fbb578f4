"""Random requests by one with random rights, to an Apache Kafka and to Ottla side by side.

    python -m tests.authorization campaign [--seed N] [--rounds N]

A round has a few topics, a group and a transaction, ACLs of alice's about them, and requests of any
API and version that alice sends to both. What both tell is compared as in the denial table, by the
error codes and by what is there. A difference that no row of the differences explains is printed,
and ends its round. Owns what is drawn: a round follows from its seed and number.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from tests.authorization.denials.comparable_answers import ComparableAnswer
from tests.authorization.denials.conversation import (
    CLOSED,
    COMES_LATER,
    NOTHING,
    Conversations,
    error_codes,
)
from tests.authorization.denials.kafka_side import SETTINGS, KafkaSide
from tests.authorization.denials.ottla_side import OttlaSide
from tests.authorization.denials.rows import ALICE, BROKER
from tests.authorization.random_acls import ALLOW, LITERAL
from tests.authorization.reference import ALL, DENY, PREFIXED, Entry
from tests.authorization.secured_kafka import secured_kafka
from tests.differential.comparison import Difference, differences
from tests.differential.connection import Outcome
from tests.differential.differences import row_of
from tests.differential.generate import BODIES, random_step
from tests.differential.learning import learn
from tests.differential.matchers import MatchedDifference
from tests.differential.sequence import Learned, Resolver, Step

STEPS = 8
ODD_SHARE = 0.2
# Their answers wait for others, or are about the broker's own life.
LEFT_OUT = frozenset(
    {
        *("JOIN_GROUP", "SYNC_GROUP", "API_VERSIONS", "SASL_HANDSHAKE", "SASL_AUTHENTICATE"),
        *("DESCRIBE_LOG_DIRS", "UNREGISTER_BROKER", "UPDATE_FEATURES", "DESCRIBE_QUORUM"),
        "UNREGISTER_CONTROLLER",
    }
)
APIS = tuple(api for api in BODIES if api not in LEFT_OUT)
NAMES = {
    Resource.TOPIC: ("t", "t0", "t0", "t1", "t2"),
    Resource.GROUP: ("g", "g0", "g0", "g1"),
    Resource.TRANSACTIONAL_ID: ("x", "x0", "x0", "x1"),
}
COMPARED = (
    *("error_code", "name", "topic", "topic_id", "group_id", "key", "transactional_id", "user"),
    *("partition_index", "index", "partition", "operations", "records"),
)
BEGUN = Step("INIT_PRODUCER_ID", 4, {"transactional_id": "~x0", "transaction_timeout_ms": 60_000})
OFFSET = {"name": "~t0", "partitions": [{"partition_index": 0, "committed_offset": 1}]}
COMMITTED = Step("OFFSET_COMMIT", 8, {"group_id": "~g0", "topics": [OFFSET]})


def made(name: str) -> tuple[Step, Step]:
    """A topic, and that it is known."""
    topic = {"name": name, "num_partitions": 2, "replication_factor": 1}
    return (
        Step("CREATE_TOPICS", 7, {"topics": [topic], "timeout_ms": 5000}),
        Step("METADATA", 12, {"topics": [{"name": name}], "allow_auto_topic_creation": False}),
    )


def prepared(chance: random.Random) -> list[Step]:
    """What an administrator does first."""
    steps = [*made("~t0")]
    steps += made("~t1") if chance.random() < 0.5 else ()
    steps += [one for one in (BEGUN, COMMITTED) if chance.random() < 0.5]
    return steps


def entries(chance: random.Random, namespace: str) -> list[Entry]:
    """Of alice, or of everybody."""
    found = set()
    for _ in range(chance.choice((0, 1, 2, 3, 4, 6, 8))):
        resource = chance.choice((*NAMES, Resource.TOPIC, Resource.CLUSTER))
        name, pattern = CLUSTER_NAME, LITERAL
        if resource in NAMES:
            own = chance.choice(NAMES[resource])
            name = namespace + own
            pattern = PREFIXED if len(own) == 1 else chance.choice((LITERAL, LITERAL, PREFIXED))
            if chance.random() < 0.1:
                name, pattern = "*", LITERAL
        operation = chance.choice((ALL, *(int(one) for one in Operation)))
        permission = DENY if chance.random() < 0.25 else ALLOW
        who = chance.choice(("User:alice", "User:alice", "User:*"))
        found.add((int(resource), name, pattern, who, "*", operation, permission))
    return sorted(found)


class Party:
    """One of the two, in one round."""

    def __init__(self, side: Any, namespace: str) -> None:
        self.side = side
        self.namespace = namespace
        self._learned: Learned = {}
        self._resolver = Resolver(namespace, self._learned)

    def prepare(self, steps: list[Step]) -> None:
        Conversations(self.side).prepare(steps, self._resolver, self._learned)

    def ask(self, step: Step) -> Any:
        """What alice is told."""
        request = self._resolver.message(step)
        for _ in range(200):
            answer = self.side.ask(BROKER, ALICE, request, step.version, step.is_answered)
            if isinstance(answer, str):
                return answer
            codes = [*error_codes(answer)]
            if not codes or not all(code in COMES_LATER for code in codes):
                break
            self.side.wait()
        learn(self._learned, step, request, answer)
        return _compared(ComparableAnswer(self.namespace).of(answer))


def _compared(told: Any) -> Any:
    if isinstance(told, dict):
        return {
            name: _compared(value)
            for name, value in told.items()
            if name.endswith(COMPARED) or isinstance(value, list | dict)
        }
    if isinstance(told, list):
        return sorted((_compared(one) for one in told), key=str)
    return told


def _is_denied(told: Any) -> bool:
    text = json.dumps(told)
    return any(f'error_code": {code}' in text for code in (29, 30, 31, 53))


def explained(step: Step, difference: Difference, kafka: Any, ottla: Any) -> str | None:
    """The row that explains it, if one does."""
    if step.api == "DESCRIBE_USER_SCRAM_CREDENTIALS" and kafka == NOTHING:
        return "users-denied"
    if difference.ottla == 7 and difference.kafka in (29, 31) and step.body["timeout_ms"] <= 0:
        return "denied-without-time"
    if step.api == "CREATE_DELEGATION_TOKEN" and difference.ottla == 67:
        return "delegation-token-of-no-user"
    if "ACLS" in step.api and kafka == CLOSED:
        return "acl-values-that-are-none"
    if isinstance(kafka, str):
        kafka = {NOTHING: Outcome.NOTHING, CLOSED: Outcome.CLOSED}[kafka].value
        difference = replace(difference, kafka=kafka)
    row = row_of(MatchedDifference(step, difference, kafka, ottla, []))
    return None if row is None else row.id


def run(seed: int, rounds: int) -> int:
    """The exit status: 1 where something differs."""
    counted: Counter[str] = Counter()
    with secured_kafka(SETTINGS) as kafka:
        sides = KafkaSide(kafka), OttlaSide()
        for side in sides:
            Conversations(side).warm()
        for number in range(rounds):
            parties = [Party(side, f"d{seed}{number:06}-") for side in sides]
            for found in _round(seed, number, parties, counted):
                print(found)
        for side in sides:
            side.close()
    print(", ".join(f"{name} {count}" for name, count in sorted(counted.items())))
    return 1 if counted["different"] else 0


def _round(seed: int, number: int, parties: list[Party], counted: Counter[str]) -> Iterator[str]:
    chance = random.Random(f"{seed}/{number}")
    first, namespace = prepared(chance), parties[0].namespace
    acls = entries(chance, namespace)
    for party in parties:
        party.prepare(first)
        party.side.set_acls(acls)
    for _ in range(STEPS):
        api = chance.choice(APIS)
        version = chance.randint(*STABLE_VERSIONS[ApiKey[api]])
        step = random_step(chance, api, version, ODD_SHARE)
        if step is None:
            continue
        kafka, ottla = (party.ask(step) for party in parties)
        counted["asked"] += 1
        counted["denied"] += any(
            f'error_code": {one}' in json.dumps(kafka) for one in (29, 30, 31, 53)
        )
        found = differences(kafka, ottla)
        rows = {explained(step, one, kafka, ottla) for one in found}
        counted.update(f"row {one}" for one in rows if one)
        if None in rows:
            counted["different"] += 1
            yield f"{seed}/{number} {step}\n  {acls}\n  {[*map(str, found)]}".replace(
                namespace, "~"
            )
        if found:
            return
