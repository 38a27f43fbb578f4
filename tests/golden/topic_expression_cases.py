"""Regular expressions by which consumers subscribe, and what Apache Kafka made of them.

`python -m tests.golden.topic_expression_cases` records `topic_expressions_kafka.json` anew:
why an expression is refused (KIP-848: INVALID_REGULAR_EXPRESSION), or which of `TOPICS` it gives.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "topic_expressions_kafka.json"

TOPICS = ("a", "a.b", "aXb", "A", "ab", "abc", "b-1", "b-22", "b_1", "orders.eu", "orders.us")

EXPRESSIONS = (
    # taken
    "a",
    "a.*",
    "(^a.*)",
    "^a$",
    "a.b",
    r"a\.b",
    r"\Qa.b\E",
    "a|b-1",
    "(?i)a",
    "(?s).*",
    "(?:a)(b)?",
    "[ab].*",
    "[^a].*",
    r"b-\d",
    r"b-\d+",
    r"b.\d{1,2}",
    r"\w+",
    r"[[:alpha:]]+",
    r"\p{L}+",
    r"\pL+",
    r"\p{Greek}+",
    "orders.(eu|us)",
    ".*s",
    ".*?s",
    "a{2}",
    "a{0,3}b?c?",
    r"\x61",
    r"\141",
    r"\Aa\z",
    "(?P<name>a)",
    "(?<name>a)",
    r"\bab\b",
    "(?m)^a$",
    "(?U)a+",
    " a",
    "no.such.topic",
    r"\C",
    "(|a)",
    "a{,3}",
    "[]a]",
    "[a-]",
    "{",
    "a{",
    "}",
    # refused
    "[",
    "(",
    ")",
    "a)",
    "*",
    "+",
    "?",
    "a**",
    "a++",
    "a*+",
    "a{1001}",
    "a{2,1}",
    "(a{100}){100}",
    "(?!x).*",
    "(?=x).*",
    "(?<=x).*",
    "(?<!x).*",
    "(?>a)",
    "(?#x)a",
    "(?P<1>a)",
    "(?P<n>a)(?P<n>b)",
    "(?P=n)",
    "(?z)a",
    r"(a)\1",
    r"\8",
    r"\Z",
    r"\G",
    r"\X",
    r"\R",
    r"\h",
    r"\u0061",
    r"\cA",
    r"\e",
    r"\p{Nope}",
    r"\pX",
    r"\p{L",
    r"\x{110000}",
    r"\xg",
    "[b-a]",
    "[[:nope:]]",
    "[a",
    "[]",
    "[^]",
    r"[\d-z]",
    "\\",
    "a\\",
    "[a&&b]",
    "(?",
    "(?i",
)


def record() -> None:
    """Ask a real broker."""
    from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
    from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
    from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
    from protocol.messages.find_coordinator import FindCoordinatorRequest
    from tests.golden.controller_cases import ask
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    def heartbeat(group: str, epoch: int, expression: str | None = None) -> Any:
        joins = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="m",
            member_epoch=epoch,
            rebalance_timeout_ms=30_000 if joins else -1,
            subscribed_topic_regex=expression,
            topic_partitions=[] if joins else None,
        )
        return ask(port, request, 1)

    port = free_port()
    with ApacheKafka(port=port, jvm_options=FAST_START, heap="512m"):
        topics = [CreatableTopic(name, 1, 1) for name in TOPICS]
        ask(port, CreateTopicsRequest(topics, 10_000), 7)
        while (
            ask(port, FindCoordinatorRequest(coordinator_keys=["g"]), 4).coordinators[0].error_code
        ):
            time.sleep(0.2)
        while heartbeat("first", 0, ".*").error_code:
            time.sleep(0.2)
        time.sleep(2)
        answers: dict[str, Any] = {}
        for number, expression in enumerate(EXPRESSIONS):
            answer = heartbeat(f"g{number}", 0, expression)
            assert answer.error_code in (0, 128), answer
            answers[expression] = answer.error_message
        time.sleep(2)
        for number, expression in enumerate(EXPRESSIONS):
            if answers[expression] is None:
                heartbeat(f"g{number}", 1)
                described = ask(port, ConsumerGroupDescribeRequest([f"g{number}"], False), 1)
                (member,) = described.groups[0].members
                found = member.target_assignment.topic_partitions
                answers[expression] = sorted(one.topic_name for one in found)
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()
