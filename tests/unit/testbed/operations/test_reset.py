"""A broker as if it were new."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from testbed.initial_state import InitialState
from testbed.operation_error import OperationError
from testbed.operations import topics
from testbed.operations.inside import InsideNode
from testbed.operations.reset import begin_reset, end_reset, reset, reset_contents
from tests.unit.testbed.operations.transaction import Producer
from tests.unit.testbed.operations.world import OneNode, one_node


async def state_of(node: OneNode, name: str) -> tuple[int, str]:
    answer = await node.ask(None, DescribeTransactionsRequest([name]), 0)
    (state,) = answer.transaction_states
    return state.error_code, state.transaction_state


async def test_users_and_acls_are_as_before(tmp_path: Path) -> None:
    first = AclCreation(2, "orders", 3, "User:alice", "*", 3, 3)
    async with one_node(tmp_path) as node:
        await node.ask(None, CreateAclsRequest([first]), 2)
        inside = InsideNode(
            node.running.node, node.sockets, lambda: None, node.door, InitialState.of(node.image)
        )
        world = replace(node.world, inside=inside)
        before = list(node.image.acls.by_id.values())
        about_orders = DeleteAclsFilter(2, "orders", 3, None, None, 1, 1)
        await node.ask(None, DeleteAclsRequest([about_orders]), 2)
        more = AclCreation(4, "kafka-cluster", 3, "User:bob", "*", 2, 2)
        assert (await node.ask(None, CreateAclsRequest([more]), 2)).results[0].error_code == 0
        user = ScramCredentialUpsertion("carol", 1, 4096, b"salt", bytes(32))
        added = await node.ask(None, AlterUserScramCredentialsRequest([], [user]), 0)
        assert added.results[0].error_code == 0 and list(node.image.scram.users) == ["carol"]
        await reset(world)
        assert not node.image.scram.users
        assert list(node.image.acls.by_id.values()) == before and len(before) == 1


async def test_what_no_request_brings_back_is_refused(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        initial_state = replace(
            InitialState.of(node.image), users={("carol", 1): "digest"}, features={"f": 1}
        )
        inside = InsideNode(node.running.node, node.sockets, lambda: None, node.door, initial_state)
        with pytest.raises(OperationError, match="levels were changed, a user .* start another"):
            await reset(replace(node.world, inside=inside))
        assert node.door.said == [], "nothing was begun"


async def test_where_it_fails_clients_come_in_again(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:

        async def ask(node_id: int | None, message: Any, version: int) -> Any:
            raise OperationError("failed", "nobody answers")

        with pytest.raises(OperationError, match="nobody answers"):
            await reset(replace(node.world, ask=ask))
        assert node.door.said == [True, False]


async def test_quotas_are_dropped_and_before_topics_which_one_may_keep(tmp_path: Path) -> None:
    asked: list[Any] = []
    names: list[str] = []

    async with one_node(tmp_path) as node:
        await topics.create(node.world, "one")

        async def ask(node_id: int | None, message: Any, version: int) -> Any:
            names.append(type(message).__name__)
            if isinstance(message, DescribeClientQuotasRequest):
                entry = EntryData([EntityData("user", None)], [ValueData("producer_byte_rate", 9)])
                return DescribeClientQuotasResponse(entries=[entry])
            if type(message).__name__ == "AlterClientQuotasRequest":
                asked.append(message.entries[0])
                return type("Answer", (), {"entries": []})
            return await node.ask(node_id, message, version)

        await reset(replace(node.world, ask=ask))
    (entry,) = asked
    assert [(one.entity_type, one.entity_name) for one in entry.entity] == [("user", None)]
    assert [(one.key, one.remove) for one in entry.ops] == [("producer_byte_rate", True)]
    assert names.index("AlterClientQuotasRequest") < names.index("DeleteTopicsRequest")


async def test_others_clusters_are_not_reset(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        await topics.create(node.world, "one")
        with pytest.raises(OperationError, match="reset needs brokers that") as told:
            await reset(replace(node.world, inside=None))
        assert told.value.kind == "not possible"
        assert list(await topics.describe(node.world)) == ["one"]


async def test_the_nodes_of_a_cluster_begin_and_end_it_each(tmp_path: Path) -> None:
    async with one_node(tmp_path) as node:
        await topics.create(node.world, "one")
        await Producer.begin(node.world, "idle", "one")
        assert await begin_reset(node.world) == 2
        await end_reset(node.world)
        assert node.door.said == [True, False]
        assert (await state_of(node, "idle"))[0] == 105
        assert list(await topics.describe(node.world)) == ["one"]
        assert (await reset_contents(node.world))["topics"] == ["one"]
        for each in (begin_reset, end_reset, reset_contents):
            with pytest.raises(OperationError, match="reset needs brokers that the tests have"):
                await each(replace(node.world, inside=None))


async def test_a_broker_whose_disk_has_failed_is_not_as_new(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    (second / ".lock").mkdir(parents=True)
    async with one_node(first, **{"log.dirs": f"{first},{second}"}) as node:
        with pytest.raises(OperationError, match="two has failed: start another broker"):
            await reset(node.world)
