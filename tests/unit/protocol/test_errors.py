from __future__ import annotations

import pytest

from protocol.errors import ApiError, ErrorCode

# Facts of the protocol (`Errors` of Kafka).
CODES = {
    "CORRUPT_MESSAGE": 2,
    "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "LEADER_NOT_AVAILABLE": 5,
    "NOT_LEADER_OR_FOLLOWER": 6,
    "REQUEST_TIMED_OUT": 7,
    "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15,
    "NOT_COORDINATOR": 16,
    "NOT_ENOUGH_REPLICAS": 19,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": 20,
    "NOT_CONTROLLER": 41,
    "KAFKA_STORAGE_ERROR": 56,
    "FETCH_SESSION_ID_NOT_FOUND": 70,
    "FENCED_LEADER_EPOCH": 74,
    "UNKNOWN_LEADER_EPOCH": 75,
    "OFFSET_NOT_AVAILABLE": 78,
    "UNSTABLE_OFFSET_COMMIT": 88,
    "UNKNOWN_TOPIC_ID": 100,
    "SHARE_SESSION_LIMIT_REACHED": 133,
    "UNKNOWN_SERVER_ERROR": -1,
    "NONE": 0,
    "OFFSET_OUT_OF_RANGE": 1,
    "MESSAGE_TOO_LARGE": 10,
    "INVALID_TOPIC_EXCEPTION": 17,
    "ILLEGAL_GENERATION": 22,
    "UNKNOWN_MEMBER_ID": 25,
    "REBALANCE_IN_PROGRESS": 27,
    "UNSUPPORTED_VERSION": 35,
    "TOPIC_ALREADY_EXISTS": 36,
    "INVALID_CONFIG": 40,
    "INVALID_REQUEST": 42,
    "OUT_OF_ORDER_SEQUENCE_NUMBER": 45,
    "DUPLICATE_SEQUENCE_NUMBER": 46,
    "INVALID_PRODUCER_EPOCH": 47,
    "UNKNOWN_PRODUCER_ID": 59,
    "NON_EMPTY_GROUP": 68,
    "GROUP_ID_NOT_FOUND": 69,
    "UNSUPPORTED_COMPRESSION_TYPE": 76,
    "MEMBER_ID_REQUIRED": 79,
    "FENCED_INSTANCE_ID": 82,
    "INVALID_RECORD": 87,
    "PRODUCER_FENCED": 90,
    "TRANSACTIONAL_ID_NOT_FOUND": 105,
    "FENCED_MEMBER_EPOCH": 110,
    "REBOOTSTRAP_REQUIRED": 129,
}


@pytest.mark.parametrize("name", CODES)
def test_codes_are_kafkas(name: str) -> None:
    assert ErrorCode[name] == CODES[name]


def test_every_code_from_minus_1_to_136_has_one_name() -> None:
    assert sorted(ErrorCode) == list(range(-1, 137))
    assert len(ErrorCode.__members__) == len(ErrorCode), "an alias: two names of one code"


def test_a_code_that_nobody_knows_is_read_as_kafka_does() -> None:
    """A peer of another release must not stop this one."""
    assert ErrorCode(9_999) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_none_is_false_and_every_other_code_true() -> None:
    """`if error:` asks whether there is one."""
    assert [code for code in ErrorCode if not code] == [ErrorCode.NONE]


def test_a_refusal_is_a_value() -> None:
    assert ApiError(ErrorCode.INVALID_CONFIG) == ApiError(ErrorCode.INVALID_CONFIG, None)
    assert ApiError(ErrorCode.INVALID_CONFIG, "why") != ApiError(ErrorCode.INVALID_CONFIG)
    assert not isinstance(ApiError(ErrorCode.NONE), Exception)
