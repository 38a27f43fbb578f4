"""Where an error stands in the answer of an API: the table (its places: test_answers)."""

from __future__ import annotations

from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.errors import ErrorCode
from testbed.faults.places import RealAnswer, ways_of

ERRORS = [error for error in ErrorCode if error is not ErrorCode.NONE]


def test_only_what_changes_nothing_is_carried_out_to_say_an_error() -> None:
    real = {
        api
        for api in STABLE_VERSIONS
        if any(isinstance(way, RealAnswer) for error in ERRORS for way in ways_of(api, error))
    }
    assert real == {
        ApiKey.FETCH,
        ApiKey.METADATA,
        ApiKey.OFFSET_FETCH,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
