"""The table of all APIs that a broker serves, each with its collaborators.

ApiVersions lists it. An API that is missing here does not exist for clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from broker.apis.api_versions import ApiVersionsApi
from broker.apis.auto_topic_creation import OFFSETS_TOPIC, SHARE_TOPIC, TRANSACTION_TOPIC
from broker.apis.consumer_groups import ConsumerGroupsApi
from broker.apis.deferred import DeferredApis
from broker.apis.encoded_topics import EncodedTopics
from broker.apis.fetch.api import FetchApi
from broker.apis.find_coordinator import Coordinators, FindCoordinatorApi
from broker.apis.group_membership import GroupMembershipApi
from broker.apis.group_offsets import GroupOffsetsApi
from broker.apis.init_producer_id import InitProducerIdApi
from broker.apis.list_offsets import ListOffsetsApi
from broker.apis.metadata import MetadataApi
from broker.apis.offset_for_leader_epoch import OffsetForLeaderEpochApi
from broker.apis.produce.api import ProduceApi
from broker.apis.produce.transactional import TransactionalProduce
from broker.node.parts import BrokerParts
from broker.node.settings import token_key
from broker.node.share_fetching import SHARE_FETCH_KEYS
from broker.requests.context import Api
from broker.requests.sliced_answers import SlicedAnswers
from controller.settings import DEFAULT_FEATURES
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from broker.apis.produce.interception import ProduceInterception

# Their modules are loaded with the first request for any of these APIs (`admin_apis`).
ADMIN_KEYS = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.UPDATE_FEATURES,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.UNREGISTER_CONTROLLER,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
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

# Their modules are loaded with the first login at the wrong time (`sasl_apis`).
SASL_KEYS = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)

# Their modules are loaded with the first transaction (`transaction_apis`).
TRANSACTION_KEYS = (
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.DESCRIBE_TRANSACTIONS,
    ApiKey.LIST_TRANSACTIONS,
)

# Their modules are loaded with the first request for the state of a share-partition.
SHARE_STATE_KEYS = (
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
)

# Their modules are loaded with the first request about a share group (`share_group_apis`).
SHARE_GROUP_KEYS = (
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
)


class ApiFamily(Protocol):
    """A group of APIs that share their collaborators."""

    def apis(self) -> list[Api]: ...


def assemble(parts: BrokerParts, served: Callable[[], Sequence[Api]]) -> list[Api]:
    """Return all APIs of a broker; `served()` returns all of them after they are assembled."""
    shared, metadata, replicas = parts.shared, parts.metadata, parts.replicas
    groups, transactions, shares = parts.groups, parts.transactions, parts.shares
    config = shared.config
    answers = shared.answers
    families: list[ApiFamily] = [
        ProduceApi(replicas, _transactional_produce(parts), answers, _interception(parts)),
        FetchApi(config, replicas, answers),
        ListOffsetsApi(config, replicas, answers),
        OffsetForLeaderEpochApi(replicas, answers),
        InitProducerIdApi(parts.producer_ids, transactions.begun_coordinator),
        MetadataApi(
            metadata,
            shared.storage.cluster_id,
            config.node_id,
            config.auto_create_topics_enable,
            parts.topic_creation,
            EncodedTopics(config.ottla_metadata_answers_max_bytes),
            answers,
        ),
        FindCoordinatorApi(
            metadata,
            config.node_id,
            shared.ports.scheduler,
            Coordinators(OFFSETS_TOPIC, groups.partition_for, groups.serves),
            Coordinators(TRANSACTION_TOPIC, transactions.partition_for, transactions.serves),
            Coordinators(SHARE_TOPIC, shares.partition_for, shares.serves),
            parts.topic_creation.create_internal,
            answers,
        ),
        GroupMembershipApi(groups),
        ConsumerGroupsApi(groups, answers),
        GroupOffsetsApi(metadata, groups, answers),
        DeferredApis(TRANSACTION_KEYS, partial(transaction_apis, parts)),
        DeferredApis(SHARE_STATE_KEYS, partial(share_state_apis, parts)),
        DeferredApis(SHARE_FETCH_KEYS, partial(parts.share_fetching.apis, answers)),
        DeferredApis(SHARE_GROUP_KEYS, partial(share_group_apis, parts)),
        DeferredApis(ADMIN_KEYS, partial(admin_apis, parts)),
        DeferredApis(SASL_KEYS, sasl_apis),
        ApiVersionsApi(
            metadata,
            served,
            DEFAULT_FEATURES,
            shared.kraft_version,
            (shared.storage.cluster_id, config.node_id),
        ),
    ]
    return _all(families)


def _all(families: Iterable[ApiFamily]) -> list[Api]:
    """Return the APIs of all families, in their order."""
    return [api for family in families for api in family.apis()]


def _interception(parts: BrokerParts) -> ProduceInterception | None:
    """Return the interception of produced records by a plug-in, None without such a plug-in."""
    ports = parts.shared.ports
    interceptor = None if ports.plugins is None else ports.plugins.interceptor(ports.allocate)
    if interceptor is None:
        return None
    from broker.apis.produce.interception import ProduceInterception

    return ProduceInterception(parts.replicas, interceptor)


def _transactional_produce(parts: BrokerParts) -> TransactionalProduce:
    """Return the check of transactional batches with their coordinator, with the configured pauses
    between retries."""
    config = parts.shared.config
    return TransactionalProduce(
        parts.replicas,
        parts.verification,
        config.add_partitions_to_txn_retry_backoff_ms,
        min(config.add_partitions_to_txn_retry_backoff_max_ms, config.request_timeout_ms),
    )


def sasl_apis() -> list[Api]:
    """Load the modules of `SASL_KEYS`, and return these APIs."""
    from broker.apis.sasl import SaslApi

    return SaslApi().apis()


def transaction_apis(parts: BrokerParts) -> list[Api]:
    """Load the modules of `TRANSACTION_KEYS`, and return these APIs."""
    from broker.apis.transaction_admin import TransactionAdminApi
    from broker.apis.transactions import TransactionsApi
    from broker.apis.txn_offset_commit import TxnOffsetCommitApi
    from broker.apis.write_txn_markers import WriteTxnMarkersApi

    coordinator, groups, metadata = parts.transactions.coordinator, parts.groups, parts.metadata
    timeout_ms, answers = parts.shared.config.request_timeout_ms, parts.shared.answers
    families: list[ApiFamily] = [
        TransactionsApi(metadata, coordinator, groups.partition_for, answers),
        # It has its own slices, so that a slow pattern does not delay other long answers.
        TransactionAdminApi(coordinator, SlicedAnswers(parts.names)),
        TxnOffsetCommitApi(metadata, groups, answers),
        WriteTxnMarkersApi(parts.replicas, groups, timeout_ms, answers),
    ]
    return _all(families)


def share_state_apis(parts: BrokerParts) -> list[Api]:
    """Load the modules of `SHARE_STATE_KEYS`, and return these APIs."""
    from broker.apis.share_group_state import ShareGroupStateApi

    return ShareGroupStateApi(parts.shares.coordinator, parts.shared.answers).apis()


def share_group_apis(parts: BrokerParts) -> list[Api]:
    """Load the modules of `SHARE_GROUP_KEYS`, and return these APIs."""
    from broker.apis.share_group_offsets import ShareGroupOffsetsApi
    from broker.apis.share_groups import ShareGroupsApi

    groups, answers = parts.groups, parts.shared.answers
    families: list[ApiFamily] = [
        ShareGroupsApi(groups, answers),
        ShareGroupOffsetsApi(parts.metadata, groups, answers),
    ]
    return _all(families)


def admin_apis(parts: BrokerParts) -> list[Api]:
    """Load the modules of `ADMIN_KEYS`, and return these APIs."""
    from broker.apis.alter_configs import AlterConfigsApis
    from broker.apis.alter_replica_log_dirs import AlterReplicaLogDirsApi
    from broker.apis.broker_loggers import BrokerLoggers
    from broker.apis.delegation_tokens import DelegationTokenApis
    from broker.apis.delete_records import DeleteRecordsApi
    from broker.apis.describe_acls import DescribeAclsApi
    from broker.apis.describe_client_quotas import DescribeClientQuotasApi
    from broker.apis.describe_cluster import DescribeClusterApi
    from broker.apis.describe_configs import DescribeConfigsApi
    from broker.apis.describe_log_dirs import DescribeLogDirsApi
    from broker.apis.describe_producers import DescribeProducersApi
    from broker.apis.describe_topic_partitions import DescribeTopicPartitionsApi
    from broker.apis.describe_user_scram_credentials import DescribeUserScramCredentialsApi
    from broker.apis.forwarded import ForwardedApis
    from broker.apis.group_admin import GroupAdminApi
    from broker.apis.list_config_resources import ListConfigResourcesApi

    shared, replicas, metadata = parts.shared, parts.replicas, parts.metadata
    config, controller = shared.config, parts.forwarding.forward
    loggers, answers = BrokerLoggers(), shared.answers
    families: list[ApiFamily] = [
        ForwardedApis(controller),
        DelegationTokenApis(metadata, token_key(config), controller),
        AlterConfigsApis(
            metadata,
            config,
            loggers,
            controller,
            shared.ports.io,
            answers,
            shared.ports.validate_security,
        ),
        DescribeConfigsApi(metadata, config, loggers, answers),
        ListConfigResourcesApi(metadata, answers),
        DescribeTopicPartitionsApi(metadata, config.max_request_partition_size_limit, answers),
        DescribeUserScramCredentialsApi(metadata, answers),
        DescribeClientQuotasApi(metadata),
        DescribeAclsApi(metadata, answers),
        DescribeClusterApi(metadata, shared.storage.cluster_id, config.node_id),
        AlterReplicaLogDirsApi(config.log_dirs, replicas, answers),
        DescribeLogDirsApi(config.log_dirs, shared.logs, answers),
        DescribeProducersApi(replicas, answers),
        DeleteRecordsApi(replicas, answers),
        GroupAdminApi(parts.groups, answers),
    ]
    return _all(families)
