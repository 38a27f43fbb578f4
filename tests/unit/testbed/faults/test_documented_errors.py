"""The table of errors beside what a running Kafka has answered (where they stand: test_answers)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from testbed.faults.documented_errors import (
    OF_ALL,
    documented,
    errors_of,
    is_documented,
    places_of,
)
from tests.authorization import denials

ANSWERS = Path(denials.__file__).with_name("denials_kafka.json")


def errors_in(value: Any, path: str = "") -> Iterator[tuple[str, ErrorCode]]:
    """The errors of an answer that was kept as JSON, with the lists that lead to them."""
    if isinstance(value, list):
        for one in value:
            yield from errors_in(one, path)
    elif isinstance(value, dict):
        for field, inner in value.items():
            if field in ("error_code", "partition_error_code"):
                if inner:
                    yield path, ErrorCode(inner)
            elif field != "response_data":  # of an Envelope: another API's answer
                yield from errors_in(inner, f"{path}.{field}" if path else field)


def test_what_kafka_has_answered_stands_in_the_table_in_its_place() -> None:
    wrong, right = set(), set()
    for name, answer in json.loads(ANSWERS.read_text()).items():
        key, version = name.split()[:2]
        api = ApiKey[key]
        for path, error in errors_in(answer):
            places = places_of(api, int(version[1:]), error)
            found = (key, error.name, path)
            (right if path in places or error in OF_ALL else wrong).add(found)
    assert not wrong
    assert len(right) > 100


def test_each_error_is_named_once_for_a_place() -> None:
    for one in documented():
        assert len(set(one.errors)) == len(one.errors), one


def test_some_errors_are_for_all() -> None:
    assert all(is_documented(ApiKey.PRODUCE, error) for error in OF_ALL)
    assert is_documented(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert not is_documented(ApiKey.PRODUCE, ErrorCode.GROUP_ID_NOT_FOUND)
    assert [one.name for one in errors_of(ApiKey.SASL_HANDSHAKE)] == [
        "ILLEGAL_SASL_STATE",
        "UNSUPPORTED_SASL_MECHANISM",
    ]
