"""A broker as if it were new, within milliseconds: what a test leaves behind is gone.

Gone are topics, groups with their offsets, transactional ids, quotas, configs that were set at run
time, faults, requests that were recorded, and clients' connections. What stays: the brokers' own
topics, and whoever was made to log in (users, ACLs, delegation tokens).

Transactions that are open are aborted first, so that nothing waits for their markers.
"""

from __future__ import annotations

from broker.testing.operations.groups import TRANSACTION, coordinator, delete, list_groups
from broker.testing.operations.port import POLL_S, Inside, OperationError, World, check
from broker.testing.operations.topics import delete as delete_topics
from broker.testing.operations.topics import nodes
from ottla.testing.frames import Json
from protocol.errors import ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_transactions import ListTransactionsRequest

LIST_TRANSACTIONS_VERSION = 0
INIT_PRODUCER_ID_VERSION = 3
DESCRIBE_CLIENT_QUOTAS_VERSION = 1
ALTER_CLIENT_QUOTAS_VERSION = 1
ALTER_CONFIGS_VERSION = 1
TIMEOUT_S = 10.0

_SET = 0
_DELETE = 1
_UNDER_WAY = ("Ongoing", "PrepareCommit", "PrepareAbort")
_TRANSACTION_MS = 10_000
_COORDINATOR_ERRORS = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


async def reset(world: World, timeout_s: float = TIMEOUT_S) -> dict[str, Json]:
    """Do it; what was dropped, by name. Raises OperationError where the brokers are not ours."""
    inside = world.inside
    if inside is None:
        raise OperationError(
            "not possible",
            "this cluster is not ours to reset: delete the topics that the test has made",
        )
    failed = inside.failed_folders()
    if failed:
        raise OperationError("failed", f"{', '.join(failed)} has failed: start the broker anew")
    deadline_s = world.now_s() + timeout_s
    inside.forget()
    connections = inside.close_connections()
    transactional_ids = await _end_transactions(world, deadline_s)
    topics = inside.topics()
    await delete_topics(world, topics, timeout_s)
    groups = [one["group"] for one in await list_groups(world)]
    await delete(world, groups, timeout_s)
    if transactional_ids:
        inside.forget_transactional_ids()
    await _drop_quotas(world)
    await _drop_configs(world, inside)
    return {
        "topics": topics,
        "groups": groups,
        "transactional_ids": transactional_ids,
        "connections": connections,
    }


async def reset_rest(world: World) -> dict[str, Json]:
    """What is left to do at each other node of a cluster, when one has been asked to `reset`."""
    inside = world.inside
    if inside is None:
        raise OperationError("not possible", "this cluster is not ours to reset")
    inside.forget()
    inside.forget_transactional_ids()
    return {"connections": inside.close_connections()}


async def _end_transactions(world: World, deadline_s: float) -> list[str]:
    """Abort what is open, and wait for what is being ended; all transactional ids."""
    found: dict[str, str] = {}
    for node in await nodes(world):
        answer = await world.ask(node, ListTransactionsRequest(), LIST_TRANSACTIONS_VERSION)
        found |= {one.transactional_id: one.transaction_state for one in answer.transaction_states}
    for name, state in found.items():
        if state in _UNDER_WAY:
            await _fence(world, name, deadline_s)
    return list(found)


async def _fence(world: World, name: str, deadline_s: float) -> None:
    """A new epoch for a transactional id: told when its last transaction has ended."""
    while True:
        node = await coordinator(world, name, TRANSACTION, deadline_s)
        request = InitProducerIdRequest(name, _TRANSACTION_MS)
        answer = await world.ask(node, request, INIT_PRODUCER_ID_VERSION)
        if answer.error_code not in _COORDINATOR_ERRORS or world.now_s() >= deadline_s:
            check(answer.error_code, f"the transaction of {name} does not end")
            return
        await world.pause(POLL_S / 10)


async def _drop_quotas(world: World) -> None:
    answer = await world.ask(None, DescribeClientQuotasRequest(), DESCRIBE_CLIENT_QUOTAS_VERSION)
    entries = [
        AlterClientQuotasRequestEntryData(
            [
                AlterClientQuotasRequestEntityData(one.entity_type, one.entity_name)
                for one in entry.entity
            ],
            [OpData(value.key, 0.0, True) for value in entry.values],
        )
        for entry in answer.entries or ()
    ]
    if not entries:
        return
    done = await world.ask(None, AlterClientQuotasRequest(entries), ALTER_CLIENT_QUOTAS_VERSION)
    for one in done.entries:
        check(one.error_code, "a quota was not dropped", one.error_message)


async def _drop_configs(world: World, inside: Inside) -> None:
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
    for one in (await world.ask(None, request, ALTER_CONFIGS_VERSION)).responses:
        check(one.error_code, f"configs of {one.resource_name} were not reset", one.error_message)
