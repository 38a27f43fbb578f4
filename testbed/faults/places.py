"""Where an error stands in the answer of an API.

Most APIs have one place for it: at the top, or in each partition, topic, group or resource that was
asked for. `RequestHandler.refusal` knows that place. Some have two, and the error decides which:
a Fetch that is refused whole has lost its session, and a partition of it has lost its leader. The
table names those, with the errors that stand elsewhere than the others. Where a version has no such
place, the next way is taken.

The errors are those that Kafka documents for the answers, and that a running Kafka 4.3 gives there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Refused:
    """As the API itself says that it failed."""


@dataclass(frozen=True, slots=True)
class Top:
    """At the top, and nothing else in the answer."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """In each of what was asked for: `path` leads through the lists of the answer, each step with
    the list of the request that it answers where that has another name (`answer<request`)."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Real:
    """In the answer that the API gives: for what changes nothing, and asks for more than it names.
    `path` leads through the lists of the answer."""

    path: tuple[str, ...]


Way = Refused | Top | Mirrored | Real
Ways = tuple[Way, ...]

_TOP: Ways = (Top(), Refused())
_PARTITIONS: Ways = (Mirrored(("topics", "partitions")), Refused())
_E = ErrorCode
_UNKNOWN_TOPIC = (
    _E.UNKNOWN_TOPIC_OR_PARTITION,
    _E.UNKNOWN_TOPIC_ID,
    _E.INVALID_TOPIC_EXCEPTION,
    _E.TOPIC_AUTHORIZATION_FAILED,
)
_QUORUM_ERRORS = (
    _E.FENCED_LEADER_EPOCH,
    _E.UNKNOWN_LEADER_EPOCH,
    _E.NOT_LEADER_OR_FOLLOWER,
    _E.INCONSISTENT_VOTER_SET,
    _E.INVALID_VOTER_KEY,
    _E.SNAPSHOT_NOT_FOUND,
    _E.POSITION_OUT_OF_RANGE,
    *_UNKNOWN_TOPIC,
)
_NO_LEADER = (_E.LEADER_NOT_AVAILABLE, _E.REPLICA_NOT_AVAILABLE, _E.LISTENER_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class Places:
    """Of one API: the ways of errors that are named, and of all others."""

    others: Ways = (Refused(),)
    named: tuple[tuple[Sequence[ErrorCode], Ways], ...] = ()


def _quorum(*errors: ErrorCode) -> Places:
    return Places(_TOP, (((*_QUORUM_ERRORS, *errors), _PARTITIONS),))


_PLACES: dict[ApiKey, Places] = {
    ApiKey.FETCH: Places(
        (Real(("responses", "partitions")),),
        (
            (
                (
                    _E.FETCH_SESSION_ID_NOT_FOUND,
                    _E.INVALID_FETCH_SESSION_EPOCH,
                    _E.FETCH_SESSION_TOPIC_ID_ERROR,
                    _E.INCONSISTENT_CLUSTER_ID,
                    _E.CLUSTER_AUTHORIZATION_FAILED,
                    _E.INVALID_REQUEST,
                    _E.UNSUPPORTED_VERSION,
                ),
                (Top(), Real(("responses", "partitions"))),
            ),
        ),
    ),
    ApiKey.METADATA: Places(
        (Real(("topics",)),),
        (
            (_NO_LEADER, (Real(("topics", "partitions")),)),
            ((_E.REBOOTSTRAP_REQUIRED,), (Top(), Real(("topics",)))),
        ),
    ),
    ApiKey.OFFSET_FETCH: Places(
        _TOP,
        (
            (
                (_E.UNSTABLE_OFFSET_COMMIT, *_UNKNOWN_TOPIC),
                (Real(("groups", "topics", "partitions")), Real(("topics", "partitions"))),
            ),
        ),
    ),
    ApiKey.LEAVE_GROUP: Places(
        _TOP,
        (
            (
                (_E.UNKNOWN_MEMBER_ID, _E.FENCED_INSTANCE_ID),
                (Mirrored(("members",)), Refused()),
            ),
        ),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: Places(
        (
            Mirrored(
                (
                    "results_by_transaction<transactions",
                    "topic_results<topics",
                    "results_by_partition<partitions",
                )
            ),
            Refused(),
        ),
        (((_E.CLUSTER_AUTHORIZATION_FAILED, _E.INVALID_REQUEST), _TOP),),
    ),
    ApiKey.OFFSET_DELETE: Places(
        _TOP, (((_E.GROUP_SUBSCRIBED_TO_TOPIC, *_UNKNOWN_TOPIC), _PARTITIONS),)
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Places(
        (Refused(),),
        (
            (
                (_E.RESOURCE_NOT_FOUND, _E.DUPLICATE_RESOURCE),
                (Mirrored(("results<users",)), Refused()),
            ),
        ),
    ),
    ApiKey.UPDATE_FEATURES: Places(
        _TOP,
        (((_E.FEATURE_UPDATE_FAILED,), (Mirrored(("results<feature_updates",)), Top())),),
    ),
    ApiKey.DESCRIBE_LOG_DIRS: Places(
        (Top(), Real(("results",))),
        (((_E.KAFKA_STORAGE_ERROR, _E.LOG_DIR_NOT_FOUND), (Real(("results",)),)),),
    ),
    ApiKey.ELECT_LEADERS: Places(
        (Refused(),),
        (
            (
                (
                    _E.ELECTION_NOT_NEEDED,
                    _E.PREFERRED_LEADER_NOT_AVAILABLE,
                    _E.ELIGIBLE_LEADERS_NOT_AVAILABLE,
                    *_UNKNOWN_TOPIC,
                ),
                (
                    Mirrored(
                        (
                            "replica_election_results<topic_partitions",
                            "partition_result<partitions",
                        )
                    ),
                    Refused(),
                ),
            ),
        ),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Places(
        (Refused(),),
        (
            (
                (
                    _E.INVALID_REPLICA_ASSIGNMENT,
                    _E.INVALID_REPLICATION_FACTOR,
                    _E.NO_REASSIGNMENT_IN_PROGRESS,
                    *_UNKNOWN_TOPIC,
                ),
                (Mirrored(("responses<topics", "partitions")),),
            ),
        ),
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Places(
        (Real(("topics",)),), ((_NO_LEADER, (Real(("topics", "partitions")),)),)
    ),
    ApiKey.ALTER_PARTITION: Places(
        _TOP,
        (
            (
                (
                    _E.FENCED_LEADER_EPOCH,
                    _E.INVALID_UPDATE_VERSION,
                    _E.INELIGIBLE_REPLICA,
                    _E.NEW_LEADER_ELECTED,
                    _E.OPERATION_NOT_ATTEMPTED,
                    *_UNKNOWN_TOPIC,
                ),
                _PARTITIONS,
            ),
        ),
    ),
    ApiKey.VOTE: _quorum(),
    ApiKey.BEGIN_QUORUM_EPOCH: _quorum(),
    ApiKey.END_QUORUM_EPOCH: _quorum(),
    ApiKey.FETCH_SNAPSHOT: _quorum(),
    ApiKey.DESCRIBE_QUORUM: _quorum(),
}
_ELSEWHERE = Places()


def ways_of(api: ApiKey, error: ErrorCode) -> Ways:
    """How an answer of this API says this error, in the order in which they are tried."""
    places = _PLACES.get(api, _ELSEWHERE)
    for errors, ways in places.named:
        if error in errors:
            return ways
    return places.others
