"""Every API that a node serves, with its collaborators: the table behind ApiVersions.

An API that is not in this list does not exist for clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker.apis.alter_configs import AlterConfigsApis
from broker.apis.api_versions import ApiVersionsApi
from broker.apis.auto_topic_creation import AutoTopicCreation
from broker.apis.broker_loggers import BrokerLoggers
from broker.apis.context import Api
from broker.apis.delete_records import DeleteRecordsApi
from broker.apis.describe_cluster import DescribeClusterApi
from broker.apis.describe_configs import DescribeConfigsApi
from broker.apis.describe_log_dirs import DescribeLogDirsApi
from broker.apis.describe_producers import DescribeProducersApi
from broker.apis.describe_topic_partitions import DescribeTopicPartitionsApi
from broker.apis.fetch import FetchApi
from broker.apis.find_coordinator import FindCoordinatorApi
from broker.apis.forwarded import ForwardedApis
from broker.apis.group_admin import GroupAdminApi
from broker.apis.group_membership import GroupMembershipApi
from broker.apis.group_offsets import GroupOffsetsApi
from broker.apis.init_producer_id import InitProducerIdApi
from broker.apis.list_config_resources import ListConfigResourcesApi
from broker.apis.list_offsets import ListOffsetsApi
from broker.apis.metadata import MetadataApi
from broker.apis.offset_for_leader_epoch import OffsetForLeaderEpochApi
from broker.apis.produce import ProduceApi
from broker.apis.producer_id_manager import ProducerIdManager
from controller.settings import DEFAULT_FEATURES

if TYPE_CHECKING:
    from broker.node import Node


class ApiFamily(Protocol):
    """One or more APIs with what they share."""

    def apis(self) -> list[Api]: ...


def node_apis(node: Node) -> list[Api]:
    """All APIs of `node`, which is assembled but for its request handler."""
    config, replicas, groups = node.config, node.replicas, node.groups
    cluster_id = node.storage.cluster_id
    controller = node.controller.apis.handle
    auto_creation = AutoTopicCreation(config, controller)
    producer_ids = ProducerIdManager(
        node.ports.scheduler,
        config.node_id,
        node.broker_epoch,
        controller,
        config.queued_max_requests,
    )
    loggers = BrokerLoggers()
    families: list[ApiFamily] = [
        ProduceApi(replicas),
        FetchApi(config, replicas),
        ListOffsetsApi(replicas),
        OffsetForLeaderEpochApi(replicas),
        InitProducerIdApi(producer_ids),
        MetadataApi(
            node, cluster_id, config.node_id, config.auto_create_topics_enable, auto_creation
        ),
        FindCoordinatorApi(
            node,
            groups.partition_for,
            lambda name, context: auto_creation.create([name], context),
        ),
        GroupMembershipApi(groups),
        GroupOffsetsApi(node, groups),
        GroupAdminApi(groups),
        ForwardedApis(controller),
        AlterConfigsApis(node, config, loggers, controller),
        DescribeTopicPartitionsApi(node, config.max_request_partition_size_limit),
        DescribeClusterApi(node, cluster_id, config.node_id),
        DescribeConfigsApi(node, config, loggers),
        ListConfigResourcesApi(node),
        DeleteRecordsApi(replicas),
        DescribeLogDirsApi(config.log_dirs, node.logs),
        DescribeProducersApi(replicas),
        ApiVersionsApi(node, lambda: list(node.requests.apis.values()), DEFAULT_FEATURES),
    ]
    return [api for family in families for api in family.apis()]
