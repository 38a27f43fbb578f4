"""Consumer groups (KIP-848) asked for by who may not do all that they ask for, as Apache Kafka
4.3.0 answers.

`python -m tests.golden.consumer_group_rights_cases` records
`consumer_group_rights_kafka_4_3_0.json` anew. A user's name says what it may do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.create_acls import AclCreation
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.golden.group_rights_cases import Case, acls
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "consumer_group_rights_kafka_4_3_0.json"

GROUP, NAMED = "by-expression", "by-name"
A, B = "rights-a", "rights-b"
EXPRESSION = "rights-.*"

_READ = (f"READ GROUP {GROUP}", f"READ GROUP {NAMED}")
_DESCRIBE = (f"DESCRIBE GROUP {GROUP}", f"DESCRIBE GROUP {NAMED}")
_A, _B = f"DESCRIBE TOPIC {A}", f"DESCRIBE TOPIC {B}"
RIGHTS = {
    "nobody": (),
    "reads": _READ,
    "reads-a": (*_READ, _A),
    "reads-both": (*_READ, _A, _B),
    "describes": _DESCRIBE,
    "describes-a": (*_DESCRIBE, _A),
    "describes-both": (*_DESCRIBE, _A, _B),
}

Ask: TypeAlias = Callable[[Any, int, str], Any]
"""The answer to a request in a version, by a user."""


def entries() -> list[AclCreation]:
    """The ACLs of all users."""
    return [acl for user, rights in RIGHTS.items() for acl in acls(user, Case("", rights, None, 0))]


class Conversation:
    """With one broker that has none of these topics and groups yet."""

    def __init__(self, ask: Ask, pause: Callable[[float], None] = time.sleep) -> None:
        """`pause` waits some seconds."""
        self._ask = ask
        self._pause = pause
        self._epochs: dict[str, int] = {}

    def answers(self) -> Iterator[tuple[str, Any]]:
        """What was asked by whom, and what came back."""
        self._create(A, B)
        for group in (GROUP, NAMED):
            found = FindCoordinatorRequest(coordinator_keys=[group])
            while self._ask(found, 4, "admin").coordinators[0].error_code:
                self._pause(0.1)
        self._pause(2)
        for user in RIGHTS:
            for names in ([A], [A, B], [A, "rights-none"], []):
                yield f"{user} joins for {names}", self._join(user, NAMED, names=names)
            yield f"{user} leaves", self._beat(user, NAMED, -1)
        self._join("reads-both", NAMED, names=[A, B])
        for user in RIGHTS:
            yield f"{user} describes", self._describe(user, NAMED)

        yield "nobody joins by expression", self._join("nobody", GROUP, expression=EXPRESSION)
        yield "reads-a joins by expression", self._join("reads-a", GROUP, expression=EXPRESSION)
        self._pause(1)
        yield "found for reads-a", self._found("reads-a")
        yield "reads-both joins by it", self._join("reads-both", GROUP, expression=EXPRESSION)
        self._pause(1)
        yield "still those of reads-a", self._found("reads-both")
        for user in ("reads-both", "reads-a"):
            self._pause(11)
            self._create(f"rights-of-nobody-{user}")
            self._pause(1)
            self._found(user)
            self._pause(1)
            yield f"found again for {user}", self._found(user)
        for user in RIGHTS:
            yield f"{user} describes {GROUP}", self._describe(user, GROUP)

    def _create(self, *names: str) -> None:
        topics = [CreatableTopic(name, 1, 1) for name in names]
        self._ask(CreateTopicsRequest(topics, 10_000), 7, "admin")

    def _join(
        self, user: str, group: str, names: list[str] | None = None, expression: str | None = None
    ) -> list[Any]:
        return self._beat(user, group, 0, names, expression)

    def _beat(
        self,
        user: str,
        group: str,
        epoch: int,
        names: list[str] | None = None,
        expression: str | None = None,
    ) -> list[Any]:
        joins = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=user,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if joins else -1,
            subscribed_topic_names=names,
            subscribed_topic_regex=expression,
            topic_partitions=[] if joins else None,
        )
        answer = self._ask(request, 1, user)
        if answer.error_code == 0:
            self._epochs[f"{group} {user}"] = answer.member_epoch
        return [answer.error_code, answer.error_message if answer.error_code == 29 else None]

    def _found(self, user: str) -> list[str]:
        """What the group has after a heartbeat of `user`."""
        self._beat(user, GROUP, self._epochs[f"{GROUP} {user}"])
        (group,) = self._ask(ConsumerGroupDescribeRequest([GROUP]), 1, "admin").groups
        return sorted(
            one.topic_name
            for member in group.members
            for one in member.target_assignment.topic_partitions
        )

    def _describe(self, user: str, group: str) -> list[Any]:
        (found,) = self._ask(ConsumerGroupDescribeRequest([group], True), 1, user).groups
        return [
            found.error_code,
            found.error_message,
            found.group_state,
            len(found.members),
            found.authorized_operations,
        ]


def record() -> None:
    """Ask a real broker."""
    from protocol.messages.create_acls import CreateAclsRequest
    from tests.clients.wire_client import WireClient
    from tests.golden.group_rights_cases import properties_with_users
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    kafka = ApacheKafka(jvm_options=FAST_START, heap="512m")
    port = free_port()
    kafka._extra.update(properties_with_users(kafka, port, list(RIGHTS)))

    def ask(request: Any, version: int, user: str) -> Any:
        with WireClient(port) as wire:
            wire.log_in("PLAIN", user, user)
            return wire.call(request, version)

    with kafka:
        made = ask(CreateAclsRequest(entries()), 3, "admin")
        assert not any(one.error_code for one in made.results), made
        time.sleep(0.5)
        answers = dict(Conversation(ask).answers())
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()
