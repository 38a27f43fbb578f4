"""Every API that a node serves, with its collaborators: the table behind ApiVersions.

An API that is not in this list does not exist for clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker.apis.api_versions import ApiVersionsApi
from broker.apis.auto_topic_creation import OFFSETS_TOPIC, TRANSACTION_TOPIC, AutoTopicCreation
from broker.apis.deferred import DeferredApis
from broker.apis.fetch import FetchApi
from broker.apis.find_coordinator import Coordinators, FindCoordinatorApi
from broker.apis.group_membership import GroupMembershipApi
from broker.apis.group_offsets import GroupOffsetsApi
from broker.apis.init_producer_id import InitProducerIdApi
from broker.apis.list_offsets import ListOffsetsApi
from broker.apis.metadata import MetadataApi
from broker.apis.offset_for_leader_epoch import OffsetForLeaderEpochApi
from broker.apis.produce import ProduceApi
from broker.apis.transactional_produce import TransactionalProduce
from broker.requests.context import Api
from controller.settings import DEFAULT_FEATURES
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from broker.node.broker_server import BrokerServer


# Loaded with the first request for one of them (`broker.node.admin_apis`).
ADMIN_KEYS = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.UPDATE_FEATURES,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.DELETE_RECORDS,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.DELETE_GROUPS,
)

# Loaded with the first transaction (`broker.node.transaction_apis`).
TRANSACTION_KEYS = (
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.DESCRIBE_TRANSACTIONS,
    ApiKey.LIST_TRANSACTIONS,
)


class ApiFamily(Protocol):
    """One or more APIs with what they share."""

    def apis(self) -> list[Api]: ...


def node_apis(node: BrokerServer) -> list[Api]:
    """All APIs of the broker `node`, which is assembled but for its request handler."""
    config, replicas, groups = node.config, node.replicas, node.groups
    cluster_id = node.storage.cluster_id
    controller = node.forwarding.forward
    auto_creation = AutoTopicCreation(config, controller)
    families: list[ApiFamily] = [
        ProduceApi(replicas, _transactional_produce(node)),
        FetchApi(config, replicas),
        ListOffsetsApi(config, replicas),
        OffsetForLeaderEpochApi(replicas),
        InitProducerIdApi(node.producer_ids, lambda: node.transactions.coordinator),
        MetadataApi(
            node, cluster_id, config.node_id, config.auto_create_topics_enable, auto_creation
        ),
        FindCoordinatorApi(
            node,
            config.node_id,
            node.ports.scheduler,
            Coordinators(OFFSETS_TOPIC, groups.partition_for, groups.serves),
            Coordinators(
                TRANSACTION_TOPIC, node.transactions.partition_for, node.transactions.serves
            ),
            auto_creation.create_internal,
        ),
        GroupMembershipApi(groups),
        GroupOffsetsApi(node, groups),
        DeferredApis(TRANSACTION_KEYS, lambda: _transaction_apis(node)),
        DeferredApis(ADMIN_KEYS, lambda: _admin_apis(node)),
        ApiVersionsApi(
            node,
            lambda: list(node.requests.apis.values()),
            DEFAULT_FEATURES,
            lambda: node.shared.controller.kraft_version,
        ),
    ]
    return [api for family in families for api in family.apis()]


def _transactional_produce(node: BrokerServer) -> TransactionalProduce:
    config = node.config
    return TransactionalProduce(
        node.replicas,
        node.verification,
        config.add_partitions_to_txn_retry_backoff_ms,
        min(config.add_partitions_to_txn_retry_backoff_max_ms, config.request_timeout_ms),
    )


def _admin_apis(node: BrokerServer) -> list[Api]:
    from broker.node.admin_apis import node_admin_apis

    return node_admin_apis(node)


def _transaction_apis(node: BrokerServer) -> list[Api]:
    from broker.node.transaction_apis import node_transaction_apis

    return node_transaction_apis(node)
