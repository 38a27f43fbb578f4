"""The reset of a broker to its first state, within milliseconds: what a test leaves is removed.

Removed are topics, groups with their offsets, transactional ids, quotas, faults, recorded requests,
SCRAM users and clients' connections. Configs, ACLs and log levels are set back to what they were at
the first start. Kept are internal topics, and ids that are given out once (producer ids, topic
ids). If something cannot be undone by a request, the reset fails (`InitialState.irrevocable`).

Meanwhile no client is served: a client that is left over from the previous test has its connection
closed, and connects again to a broker without contents. Open transactions are aborted first, so
that nothing waits for their markers.
"""

from __future__ import annotations

from client.core.coordinators import TRANSACTION, at_coordinator
from ottla.testing.frames import Json
from protocol.errors import ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_transactions import ListTransactionsRequest
from testbed.operation_error import OperationError
from testbed.operations.groups import delete, list_groups
from testbed.operations.port import POLL_S, Inside, OperationWorld, check
from testbed.operations.topics import delete as delete_topics
from testbed.operations.topics import nodes

LIST_TRANSACTIONS_VERSION = 0
INIT_PRODUCER_ID_VERSION = 3
DESCRIBE_CLIENT_QUOTAS_VERSION = 1
ALTER_CLIENT_QUOTAS_VERSION = 1
ALTER_CONFIGS_VERSION = 1
ALTER_USERS_VERSION = 0
ACLS_VERSION = 2
TIMEOUT_S = 10.0

_SET = 0
_DELETE = 1
_UNDER_WAY = ("Ongoing", "PrepareCommit", "PrepareAbort")
_TRANSACTION_MS = 10_000


async def reset(world: OperationWorld, timeout_s: float = TIMEOUT_S) -> dict[str, Json]:
    """Reset the broker, and return the names of the deleted "topics", "groups" and
    "transactional_ids", and the number of closed "connections". Raises OperationError if the tests
    did not start the brokers, or if something cannot be undone."""
    connections = await begin_reset(world)
    try:
        return {**await reset_contents(world, timeout_s), "connections": connections}
    finally:
        await end_reset(world)


async def begin_reset(world: OperationWorld) -> int:
    """Begin a reset at one node of a cluster: remove faults and the like, and serve no client from
    now on. Return how many clients' connections were closed.

    Raises OperationError if the broker has changes that no reset can undo.
    """
    inside = _checked_inside(world)
    irrevocable = inside.irrevocable()
    if irrevocable:
        raise OperationError("failed", f"{', '.join(irrevocable)}: start another broker")
    inside.forget()
    inside.serve_clients(False)
    return inside.close_connections()


async def reset_contents(world: OperationWorld, timeout_s: float = TIMEOUT_S) -> dict[str, Json]:
    """Reset what the cluster stores, by requests from one node: topics, groups, transactions,
    quotas, users, configs and ACLs. Return the names of the deleted topics, groups and
    transactional ids. Raises OperationError."""
    inside = _checked_inside(world)
    deadline_s = world.now_s() + timeout_s
    await _drop_quotas(world)  # first: a quota may limit the deletion of topics
    transactional_ids = await _end_transactions(world, deadline_s)
    topics: list[str] = []
    # A topic that a client has requested earlier may be created only now.
    while remaining := inside.topics():
        await delete_topics(world, remaining, timeout_s)
        topics += remaining
    groups = [group["group"] for group in await list_groups(world)]
    await delete(world, groups, timeout_s)
    await _drop_configs(world, inside)
    await _drop_users(world, inside)
    await _restore_acls(world, inside)
    return {"topics": topics, "groups": groups, "transactional_ids": transactional_ids}


async def end_reset(world: OperationWorld) -> None:
    """End a reset at one node of a cluster: expire transactional ids, remove faults and kept
    requests once more, and serve clients again."""
    inside = _checked_inside(world)
    inside.forget_transactional_ids()
    inside.forget()
    inside.serve_clients(True)


def _checked_inside(world: OperationWorld) -> Inside:
    """Return the access to the inside of a broker.

    Raises OperationError unless the tests started the cluster.
    """
    if world.inside is None:
        raise OperationError(
            "not possible",
            "reset needs brokers that the tests have started: of a running cluster only what the "
            "test has made is deleted",
        )
    return world.inside


async def _end_transactions(world: OperationWorld, deadline_s: float) -> list[str]:
    """Abort open transactions, wait for those that are ending, and return all transactional ids.
    Raises OperationError if a transaction does not end in time."""
    states: dict[str, str] = {}
    for node in await nodes(world):
        answer = await world.ask(node, ListTransactionsRequest(), LIST_TRANSACTIONS_VERSION)
        states |= {
            transaction.transactional_id: transaction.transaction_state
            for transaction in answer.transaction_states
        }
    for name, state in states.items():
        if state in _UNDER_WAY:
            await _fence(world, name, deadline_s)
    return list(states)


async def _fence(world: OperationWorld, name: str, deadline_s: float) -> None:
    """Take a new producer epoch for a transactional id, which aborts its open transaction and waits
    until it has ended. Raises OperationError after the deadline."""
    request = InitProducerIdRequest(name, _TRANSACTION_MS)
    attempts = world.attempts(deadline_s, 0.1 * POLL_S, also=(ErrorCode.CONCURRENT_TRANSACTIONS,))
    steps = at_coordinator(attempts, name, request, INIT_PRODUCER_ID_VERSION, TRANSACTION)
    answer = await world.run(steps)
    check(answer.error_code, f"the transaction of {name} does not end")


async def _drop_quotas(world: OperationWorld) -> None:
    """Remove all quotas of the cluster. Raises OperationError if a node rejects that."""
    answer = await world.ask(None, DescribeClientQuotasRequest(), DESCRIBE_CLIENT_QUOTAS_VERSION)
    entries = [
        AlterClientQuotasRequestEntryData(
            [
                AlterClientQuotasRequestEntityData(part.entity_type, part.entity_name)
                for part in entry.entity
            ],
            [OpData(value.key, 0.0, True) for value in entry.values],
        )
        for entry in answer.entries or ()
    ]
    if not entries:
        return
    altered = await world.ask(None, AlterClientQuotasRequest(entries), ALTER_CLIENT_QUOTAS_VERSION)
    for result in altered.entries:
        check(result.error_code, "a quota was not dropped", result.error_message)


async def _drop_configs(world: OperationWorld, inside: Inside) -> None:
    """Set the configs that differ from the first start back to their first values. Raises
    OperationError if a node rejects that."""
    changed = inside.changed_configs()
    if not changed:
        return
    resources = [
        AlterConfigsResource(
            kind,
            name,
            [
                AlterableConfig(key, _DELETE if value is None else _SET, value)
                for key, value in settings.items()
            ],
        )
        for kind, name, settings in changed
    ]
    request = IncrementalAlterConfigsRequest(resources)
    for result in (await world.ask(None, request, ALTER_CONFIGS_VERSION)).responses:
        check(
            result.error_code,
            f"configs of {result.resource_name} were not reset",
            result.error_message,
        )


async def _drop_users(world: OperationWorld, inside: Inside) -> None:
    """Remove the SCRAM users that were not there at the first start. Raises OperationError if a
    node rejects that."""
    users = inside.new_users()
    if not users:
        return
    request = AlterUserScramCredentialsRequest([ScramCredentialDeletion(*user) for user in users])
    for result in (await world.ask(None, request, ALTER_USERS_VERSION)).results:
        check(result.error_code, f"user {result.user} was not dropped", result.error_message)


async def _restore_acls(world: OperationWorld, inside: Inside) -> None:
    """Remove the ACLs that were added since the first start, and create those again that were
    removed. Raises OperationError if a node rejects that."""
    added, removed = inside.changed_acls()
    if added:
        filters = [DeleteAclsFilter(*acl) for acl in added]
        deleted = await world.ask(None, DeleteAclsRequest(filters), ACLS_VERSION)
        for result in deleted.filter_results:
            check(result.error_code, "an ACL was not dropped", result.error_message)
    if removed:
        creations = [AclCreation(*acl) for acl in removed]
        created = await world.ask(None, CreateAclsRequest(creations), ACLS_VERSION)
        for result in created.results:
            check(result.error_code, "an ACL was not made again", result.error_message)
