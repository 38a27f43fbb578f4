"""Consumer groups (KIP-848) asked for by who may not do all that they ask for, as Apache Kafka
answers.

`python -m tests.golden.consumer_group_rights_cases` records
`consumer_group_rights_kafka.json` anew. A user's name says what it may do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.golden.few_rights import ADMIN, Ask, GuardedKafka
from tests.golden.group_rights_cases import RETRIED
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "consumer_group_rights_kafka.json"

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


def answers(ask: Ask, pause: Callable[[float], None]) -> dict[str, Any]:
    """Ask a broker that has none of these topics and groups yet; `pause` waits some seconds."""
    return dict(_Conversation(ask, pause).answers())


class _Conversation:
    """Users with few rights, who join and describe two groups."""

    def __init__(self, ask: Ask, pause: Callable[[float], None]) -> None:
        self._ask = ask
        self._pause = pause
        self._epochs: dict[str, int] = {}

    def answers(self) -> Iterator[tuple[str, Any]]:
        """What was asked by whom, and what came back."""
        self._create(A, B)
        for group in (GROUP, NAMED):
            found = FindCoordinatorRequest(coordinator_keys=[group])
            while self._ask(found, 4, ADMIN).coordinators[0].error_code:
                self._pause(0.1)
            while self._describe(ADMIN, group)[0] in RETRIED:
                self._pause(0.1)
        self._pause(2)
        for user in RIGHTS:
            for names in ([A], [A, B], [A, "rights-none"], []):
                yield f"{user} joins for {names}", self._join(user, NAMED, names=names)
            yield f"{user} leaves", self._beat(user, NAMED, -1)
        self._pause(1.5)  # the next assignment is due
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
        self._ask(CreateTopicsRequest(topics, 10_000), 7, ADMIN)

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
        (group,) = self._ask(ConsumerGroupDescribeRequest([GROUP]), 1, ADMIN).groups
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
    with GuardedKafka(RIGHTS) as kafka:
        kept = answers(kafka.ask, time.sleep)
    write_json(RECORDED, kept)


if __name__ == "__main__":
    record()
