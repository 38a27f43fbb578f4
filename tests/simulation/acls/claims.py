"""What an answer says of rights: for each resource that a request names, allowed or refused.

A claim is about what would have been enough: one of several operations on resources. Errors that
tell nothing of rights make no claim. All others do: whoever may not is told so before anything
else shows, so any other answer says that it was allowed.

Written from the table of what each API asks for, not from the broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.primitives import ZERO_UUID
from simulation.network.sim_network import Exchange

NameOf = Callable[[bytes], str | None]
"""Of a topic id."""
TOPIC, GROUP, CLUSTER, TRANSACTION = (
    Resource.TOPIC,
    Resource.GROUP,
    Resource.CLUSTER,
    Resource.TRANSACTIONAL_ID,
)
REFUSALS = {
    TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTION: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
REFUSED = tuple(REFUSALS.values())
SILENT = (
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    ErrorCode.INCONSISTENT_TOPIC_ID,
)
"""They tell nothing of rights."""
FORWARDED = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
)
"""Those that a controller judges."""


class Need(NamedTuple):
    """One right. `name` None: for some name."""

    operation: Operation
    resource: Resource
    name: str | None


class Claim(NamedTuple):
    """One of `needs` is there, or none of them."""

    allowed: bool
    needs: tuple[Need, ...]
    last: bool = False
    """Whether it has to be so when the answer is given, not just at some moment before."""


def claims_of(exchange: Exchange, name_of: NameOf) -> Iterator[Claim]:
    """All that an answer says of rights."""
    told = _TOLD.get(exchange.key)
    if told is not None:
        yield from told(exchange, name_of)


# --- one claim -----------------------------------------------------------------------------------


def _claim(error: int, *needs: Need, last: bool = False) -> Iterator[Claim]:
    """By the error that refuses what the last of `needs` is about."""
    code = ErrorCode(error)
    if code is REFUSALS[needs[-1].resource]:
        yield Claim(False, needs)
    elif code not in SILENT and code not in REFUSED:
        yield Claim(True, needs, last)


def _chain(errors: Iterable[int], *needs: Need) -> Iterator[Claim]:
    """Needs that are looked at one after the other: what comes behind a refusal is not known.

    Each has an error of its own by the type of its resource.
    """
    for error in dict.fromkeys(errors):
        code = ErrorCode(error)
        if code in SILENT:
            continue
        for need in needs:
            refused = code is REFUSALS[need.resource]
            yield Claim(not refused, (need,))
            if refused:
                break


def _on_cluster(operation: Operation) -> Need:
    return Need(operation, CLUSTER, CLUSTER_NAME)


def _on_topic(operation: Operation, name: str) -> Need:
    return Need(operation, TOPIC, name)


# --- data ----------------------------------------------------------------------------------------


def _produce(exchange: Exchange, name_of: NameOf) -> Iterator[Claim]:
    transactional_id = exchange.request.transactional_id
    for topic in exchange.response.responses:
        name = topic.name or name_of(topic.topic_id)
        codes = [one.error_code for one in topic.partition_responses]
        if transactional_id is not None:
            yield from _chain(codes, Need(Operation.WRITE, TRANSACTION, transactional_id))
        if name is not None:
            for code in codes:
                yield from _claim(code, _on_topic(Operation.WRITE, name))


def _fetch(exchange: Exchange, name_of: NameOf) -> Iterator[Claim]:
    replica = exchange.request.replica_id >= 0
    for topic in exchange.response.responses:
        name = topic.topic or name_of(topic.topic_id)
        for one in topic.partitions:
            if replica:
                refused = one.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
                if refused or ErrorCode(one.error_code) not in SILENT:
                    yield Claim(not refused, (_on_cluster(Operation.CLUSTER_ACTION),))
            elif name is not None:
                yield from _claim(one.error_code, _on_topic(Operation.READ, name), last=True)


def _list_offsets(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    for topic in exchange.response.topics:
        for one in topic.partitions:
            yield from _claim(one.error_code, _on_topic(Operation.DESCRIBE, topic.name))


def _metadata(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    for topic in exchange.response.topics:
        if topic.name is not None:
            yield from _claim(topic.error_code, _on_topic(Operation.DESCRIBE, topic.name))


def _delete_records(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    for topic in exchange.response.topics:
        for one in topic.partitions:
            yield from _claim(one.error_code, _on_topic(Operation.DELETE, topic.name))


# --- groups --------------------------------------------------------------------------------------


def _find_coordinator(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    request, response = exchange.request, exchange.response
    resource = TRANSACTION if request.key_type else GROUP
    told = [(request.key, response.error_code)]
    if exchange.version >= 4:
        told = [(one.key, one.error_code) for one in response.coordinators]
    for key, error in told:
        yield from _claim(error, Need(Operation.DESCRIBE, resource, key))


def _membership(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    need = Need(Operation.READ, GROUP, exchange.request.group_id)
    yield from _claim(exchange.response.error_code, need)


def _offset_commit(exchange: Exchange, name_of: NameOf) -> Iterator[Claim]:
    group = Need(Operation.READ, GROUP, exchange.request.group_id)
    for topic in exchange.response.topics:
        name = topic.name or name_of(topic.topic_id)
        codes = [one.error_code for one in topic.partitions]
        topics = () if name is None else (_on_topic(Operation.READ, name),)
        yield from _chain(codes, group, *topics)


def _offset_fetch(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    response = exchange.response
    groups = [(exchange.request.group_id, response)]
    if exchange.version >= 8:
        groups = [(one.group_id, one) for one in response.groups]
    for name, told in groups:
        group = Need(Operation.DESCRIBE, GROUP, name)
        if exchange.version >= 2 and told.error_code:
            yield from _chain([told.error_code], group)
            continue
        for topic in told.topics:
            codes = [one.error_code for one in topic.partitions]
            yield from _chain(codes, group, _on_topic(Operation.DESCRIBE, topic.name))


# --- transactions --------------------------------------------------------------------------------


def _init_producer_id(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    name, error = exchange.request.transactional_id, exchange.response.error_code
    if name is not None:
        yield from _claim(error, Need(Operation.WRITE, TRANSACTION, name))
        return
    some = Need(Operation.WRITE, TOPIC, None)
    yield from _claim(error, some, _on_cluster(Operation.IDEMPOTENT_WRITE))


def _add_partitions(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    name = exchange.request.v3_and_below_transactional_id
    for topic in exchange.response.results_by_topic_v3_and_below:
        for one in topic.results_by_partition:
            code = one.partition_error_code
            if code == ErrorCode.OPERATION_NOT_ATTEMPTED:
                code = 0  # all that is refused of this one is another
            needs = Need(Operation.WRITE, TRANSACTION, name), _on_topic(Operation.WRITE, topic.name)
            yield from _chain([code], *needs)


def _add_offsets(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    request = exchange.request
    yield from _chain(
        [exchange.response.error_code],
        Need(Operation.WRITE, TRANSACTION, request.transactional_id),
        Need(Operation.READ, GROUP, request.group_id),
    )


def _txn_offset_commit(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    request = exchange.request
    for topic in exchange.response.topics:
        yield from _chain(
            [one.error_code for one in topic.partitions],
            Need(Operation.WRITE, TRANSACTION, request.transactional_id),
            Need(Operation.READ, GROUP, request.group_id),
            _on_topic(Operation.READ, topic.name),
        )


def _end_txn(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    need = Need(Operation.WRITE, TRANSACTION, exchange.request.transactional_id)
    yield from _claim(exchange.response.error_code, need)


# --- administration ------------------------------------------------------------------------------


def _create_topics(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    for topic in exchange.response.topics:
        create = _on_cluster(Operation.CREATE), _on_topic(Operation.CREATE, topic.name)
        yield from _claim(topic.error_code, *create)
        if exchange.version >= 5 and not topic.error_code:
            configs = _on_topic(Operation.DESCRIBE_CONFIGS, topic.name)
            yield from _claim(topic.topic_config_error_code, configs)


def _delete_topics(exchange: Exchange, name_of: NameOf) -> Iterator[Claim]:
    ids = {one.topic_id for one in exchange.request.topics} - {ZERO_UUID}
    for topic in exchange.response.responses:
        refused = topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        by_id = topic.topic_id in ids  # the answer tells the id of one that was named, too
        name = topic.name or (name_of(topic.topic_id) if by_id else None)
        if name is None:
            continue
        delete = _on_cluster(Operation.DELETE), _on_topic(Operation.DELETE, name)
        describe = _on_topic(Operation.DESCRIBE, name)
        if refused and topic.name is None:  # by its id, and its name is not for whoever asks
            yield Claim(False, (describe,))
            continue
        yield from _claim(topic.error_code, *delete)
        if by_id and (refused or not topic.error_code):
            yield Claim(True, (describe,))


def _create_partitions(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    for one in exchange.response.results:
        yield from _claim(one.error_code, _on_topic(Operation.ALTER, one.name))


def _alter_cluster(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    yield from _claim(exchange.response.error_code, _on_cluster(Operation.ALTER))


def _alter_configs(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    for one in exchange.response.responses:
        yield from _claim(one.error_code, _on_topic(Operation.ALTER_CONFIGS, one.resource_name))


def _describe_configs(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    for one in exchange.response.results:
        need = _on_topic(Operation.DESCRIBE_CONFIGS, one.resource_name)
        yield from _claim(one.error_code, need)


def _describe_acls(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    yield from _claim(exchange.response.error_code, _on_cluster(Operation.DESCRIBE))


def _create_acls(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    for one in exchange.response.results:
        yield from _claim(one.error_code, _on_cluster(Operation.ALTER))


def _delete_acls(exchange: Exchange, _name_of: NameOf) -> Iterator[Claim]:
    for one in exchange.response.filter_results:
        yield from _claim(one.error_code, _on_cluster(Operation.ALTER))


_TOLD: dict[ApiKey, Callable[[Exchange, NameOf], Iterator[Claim]]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.METADATA: _metadata,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.JOIN_GROUP: _membership,
    ApiKey.HEARTBEAT: _membership,
    ApiKey.LEAVE_GROUP: _membership,
    ApiKey.SYNC_GROUP: _membership,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.ADD_OFFSETS_TO_TXN: _add_offsets,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.END_TXN: _end_txn,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.ELECT_LEADERS: _alter_cluster,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_cluster,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.DESCRIBE_ACLS: _describe_acls,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
}
