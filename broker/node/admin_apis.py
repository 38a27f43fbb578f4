"""The admin APIs of a node with their collaborators: loaded with the first admin request.

`broker.node.apis` holds the rest, and the table of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.apis.alter_configs import AlterConfigsApis
from broker.apis.alter_replica_log_dirs import AlterReplicaLogDirsApi
from broker.apis.broker_loggers import BrokerLoggers
from broker.apis.delete_records import DeleteRecordsApi
from broker.apis.describe_cluster import DescribeClusterApi
from broker.apis.describe_configs import DescribeConfigsApi
from broker.apis.describe_log_dirs import DescribeLogDirsApi
from broker.apis.describe_producers import DescribeProducersApi
from broker.apis.describe_topic_partitions import DescribeTopicPartitionsApi
from broker.apis.forwarded import ForwardedApis
from broker.apis.group_admin import GroupAdminApi
from broker.apis.list_config_resources import ListConfigResourcesApi
from broker.requests.context import Api

if TYPE_CHECKING:
    from broker.node.broker_server import BrokerServer


def node_admin_apis(node: BrokerServer) -> list[Api]:
    """The APIs of `broker.node.apis.ADMIN_KEYS`."""
    config, controller = node.config, node.forwarding.forward
    cluster_id = node.storage.cluster_id
    loggers = BrokerLoggers()
    return [
        *ForwardedApis(controller).apis(),
        *AlterConfigsApis(node, config, loggers, controller).apis(),
        *DescribeConfigsApi(node, config, loggers).apis(),
        *ListConfigResourcesApi(node).apis(),
        *DescribeTopicPartitionsApi(node, config.max_request_partition_size_limit).apis(),
        *DescribeClusterApi(node, cluster_id, config.node_id).apis(),
        *AlterReplicaLogDirsApi(config.log_dirs, node.replicas).apis(),
        *DescribeLogDirsApi(config.log_dirs, node.logs).apis(),
        *DescribeProducersApi(node.replicas).apis(),
        *DeleteRecordsApi(node.replicas).apis(),
        *GroupAdminApi(node.groups).apis(),
    ]
