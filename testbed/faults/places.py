"""The place of an error in the response of an API.

Most APIs have one place for it: at the top, or in each partition, topic, group or resource that was
asked for. `RequestHandler.refusal` knows that place. Some have two, and the error decides which: if
a Fetch has an error at the top, it has lost its session; if a partition has one, it has lost its
leader. The table lists those APIs, with the errors that have another place. If a version lacks the
place, the next way is tried.

The errors are those that Kafka documents for the responses, and those that a running Kafka
returns there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class OwnError:
    """The place where the API itself has its error (`RequestHandler.refusal`)."""


@dataclass(frozen=True, slots=True)
class Top:
    """The top of a response that has nothing else."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """Each item that was asked for. `path` leads through the lists of the response; if the
    request's list has another name, the step is `answer<request`."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RealAnswer:
    """The API's real response. Used for requests that change nothing, and whose response has items
    that the request does not name. `path` leads through the lists of the response."""

    path: tuple[str, ...]


Way = OwnError | Top | Mirrored | RealAnswer
Ways = tuple[Way, ...]

_TOP: Ways = (Top(), OwnError())
_PARTITIONS: Ways = (Mirrored(("topics", "partitions")), OwnError())
_SHARE_PARTITIONS: Ways = (Mirrored(("responses<topics", "partitions")), OwnError())
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
_SHARE_PARTITION_ERRORS = (
    _E.NOT_LEADER_OR_FOLLOWER,
    _E.FENCED_LEADER_EPOCH,
    _E.UNKNOWN_LEADER_EPOCH,
    _E.KAFKA_STORAGE_ERROR,
    _E.CORRUPT_MESSAGE,
    _E.INVALID_RECORD_STATE,
    _E.UNKNOWN_SERVER_ERROR,
    *_UNKNOWN_TOPIC,
)
_NO_LEADER = (_E.LEADER_NOT_AVAILABLE, _E.REPLICA_NOT_AVAILABLE, _E.LISTENER_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class Places:
    """The ways of one API: those of the named errors, and those of all others."""

    others: Ways = (OwnError(),)
    named: tuple[tuple[Sequence[ErrorCode], Ways], ...] = ()


def _quorum(*errors: ErrorCode) -> Places:
    """Return the places in an API of the Raft quorum: in each partition for _QUORUM_ERRORS and
    `errors`, at the top for all others."""
    return Places(_TOP, (((*_QUORUM_ERRORS, *errors), _PARTITIONS),))


_PLACES: dict[ApiKey, Places] = {
    ApiKey.FETCH: Places(
        (RealAnswer(("responses", "partitions")),),
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
                (Top(), RealAnswer(("responses", "partitions"))),
            ),
        ),
    ),
    ApiKey.METADATA: Places(
        (RealAnswer(("topics",)),),
        (
            (_NO_LEADER, (RealAnswer(("topics", "partitions")),)),
            ((_E.REBOOTSTRAP_REQUIRED,), (Top(), RealAnswer(("topics",)))),
        ),
    ),
    ApiKey.OFFSET_FETCH: Places(
        _TOP,
        (
            (
                (_E.UNSTABLE_OFFSET_COMMIT, *_UNKNOWN_TOPIC),
                (
                    RealAnswer(("groups", "topics", "partitions")),
                    RealAnswer(("topics", "partitions")),
                ),
            ),
        ),
    ),
    ApiKey.LEAVE_GROUP: Places(
        _TOP,
        (
            (
                (_E.UNKNOWN_MEMBER_ID, _E.FENCED_INSTANCE_ID),
                (Mirrored(("members",)), OwnError()),
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
            OwnError(),
        ),
        (((_E.CLUSTER_AUTHORIZATION_FAILED, _E.INVALID_REQUEST), _TOP),),
    ),
    ApiKey.OFFSET_DELETE: Places(
        _TOP, (((_E.GROUP_SUBSCRIBED_TO_TOPIC, *_UNKNOWN_TOPIC), _PARTITIONS),)
    ),
    ApiKey.SHARE_FETCH: Places(_TOP, ((_SHARE_PARTITION_ERRORS, _SHARE_PARTITIONS),)),
    ApiKey.SHARE_ACKNOWLEDGE: Places(_TOP, ((_SHARE_PARTITION_ERRORS, _SHARE_PARTITIONS),)),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: Places(
        (OwnError(),),
        (
            (
                (*_NO_LEADER, _E.NOT_LEADER_OR_FOLLOWER, *_UNKNOWN_TOPIC),
                (RealAnswer(("groups", "topics", "partitions")),),
            ),
        ),
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: Places(
        _TOP,
        (
            (
                (_E.FENCED_STATE_EPOCH, *_UNKNOWN_TOPIC),
                (Mirrored(("responses<topics", "partitions")), OwnError()),
            ),
        ),
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: Places(
        _TOP, ((_UNKNOWN_TOPIC, (Mirrored(("responses<topics",)), OwnError())),)
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Places(
        (OwnError(),),
        (
            (
                (_E.RESOURCE_NOT_FOUND, _E.DUPLICATE_RESOURCE),
                (Mirrored(("results<users",)), OwnError()),
            ),
        ),
    ),
    ApiKey.UPDATE_FEATURES: Places(
        _TOP,
        (((_E.FEATURE_UPDATE_FAILED,), (Mirrored(("results<feature_updates",)), Top())),),
    ),
    ApiKey.DESCRIBE_LOG_DIRS: Places(
        (Top(), RealAnswer(("results",))),
        (((_E.KAFKA_STORAGE_ERROR, _E.LOG_DIR_NOT_FOUND), (RealAnswer(("results",)),)),),
    ),
    ApiKey.ELECT_LEADERS: Places(
        (OwnError(),),
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
                    OwnError(),
                ),
            ),
        ),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Places(
        (OwnError(),),
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
        (RealAnswer(("topics",)),), ((_NO_LEADER, (RealAnswer(("topics", "partitions")),)),)
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
    """Return the ways of this API to return this error, in the order in which they are tried;
    OwnError alone if the table has no row for the API."""
    places = _PLACES.get(api, _ELSEWHERE)
    for errors, ways in places.named:
        if error in errors:
            return ways
    return places.others
