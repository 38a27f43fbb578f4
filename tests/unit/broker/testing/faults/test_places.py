"""Where an error stands in the answer of an API: the table (its places: test_answers)."""

from __future__ import annotations

from broker.testing.faults.places import Mirrored, Real, Refused, Top, ways_of
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.errors import ErrorCode

ERRORS = [error for error in ErrorCode if error is not ErrorCode.NONE]


def test_the_error_decides_where_it_stands() -> None:
    assert ways_of(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER) == (Refused(),)
    lost = ways_of(ApiKey.FETCH, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    assert lost[0] == Top()
    assert ways_of(ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE) == (
        Real(("responses", "partitions")),
    )
    assert isinstance(ways_of(ApiKey.LEAVE_GROUP, ErrorCode.UNKNOWN_MEMBER_ID)[0], Mirrored)


def test_only_what_changes_nothing_is_carried_out_to_say_an_error() -> None:
    real = {
        api
        for api in STABLE_VERSIONS
        if any(isinstance(way, Real) for error in ERRORS for way in ways_of(api, error))
    }
    assert real == {
        ApiKey.FETCH,
        ApiKey.METADATA,
        ApiKey.OFFSET_FETCH,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
