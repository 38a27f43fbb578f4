"""The requests that the active controller answers, each of which becomes a command.

    CreateTopics 2-7   DeleteTopics 1-6   CreatePartitions 0-3   AlterConfigs 0-2
    IncrementalAlterConfigs 0-1   ElectLeaders 0-2   AlterPartitionReassignments 0-1
    ListPartitionReassignments 0   UpdateFeatures 0-2   UnregisterBroker 0
    AlterUserScramCredentials 0   CreateAcls 1-3   DeleteAcls 1-3   DescribeAcls 1-3
    CreateDelegationToken 1-3   RenewDelegationToken 1-2   ExpireDelegationToken 1-2
    DescribeDelegationToken 1-3   AllocateProducerIds 0   BrokerRegistration 0-4
    BrokerHeartbeat 0-2   AlterPartition 2-3   AssignReplicasToDirs 0   ControllerRegistration 0
    DescribeCluster 0-2   DescribeUserScramCredentials 0

Rights: each handler's file lists those that it needs; AllocateProducerIds, BrokerRegistration and
BrokerHeartbeat need ClusterAction on the cluster.

Owns: the checks on a whole request (such as names that occur twice) and the form of the responses.
On a combined node the broker calls `handle` directly; other nodes send requests, those of clients
in Envelopes. Never: reads metadata outside a decision, so that a response fits the log's order.
Only the Describe requests are answered from an image.

Follows Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from controller.authorization.rights import Rights
from controller.decisions.cluster_control import HeartbeatReply
from controller.decisions.decision import Decision, DecisionView
from controller.decisions.mutation_quota import MutationQuota
from controller.decisions.producer_ids_control import ProducerIdsBlock, allocate_producer_ids
from controller.decisions.request_timeout import RequestTimeouts
from controller.quorum_controller import QuorumController
from controller.requests.rights import if_allowed
from controller.settings import ControllerSettings
from ground.ports import Scheduler
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

if TYPE_CHECKING:
    from controller.requests.long_requests import Slices

Respond = Callable[[Any], None]
T = TypeVar("T")
Handler = Callable[["ControllerRequestContext", Any, Respond], None]

CREATE_TOPICS = 19
DELETE_TOPICS = 20
DESCRIBE_ACLS = 29
CREATE_ACLS = 30
DELETE_ACLS = 31
ALTER_CONFIGS = 33
CREATE_PARTITIONS = 37
CREATE_DELEGATION_TOKEN = 38
RENEW_DELEGATION_TOKEN = 39
EXPIRE_DELEGATION_TOKEN = 40
DESCRIBE_DELEGATION_TOKEN = 41
ELECT_LEADERS = 43
INCREMENTAL_ALTER_CONFIGS = 44
ALTER_PARTITION_REASSIGNMENTS = 45
LIST_PARTITION_REASSIGNMENTS = 46
ALTER_CLIENT_QUOTAS = 49
DESCRIBE_USER_SCRAM_CREDENTIALS = 50
ALTER_USER_SCRAM_CREDENTIALS = 51
ALTER_PARTITION = 56
UPDATE_FEATURES = 57
DESCRIBE_CLUSTER = 60
UNREGISTER_BROKER = 64
CONTROLLER_REGISTRATION = 70
ASSIGN_REPLICAS_TO_DIRS = 73
UNREGISTER_CONTROLLER = 94

FORWARDED_KEYS = (
    CREATE_TOPICS,
    DELETE_TOPICS,
    CREATE_ACLS,
    DELETE_ACLS,
    ALTER_CONFIGS,
    CREATE_PARTITIONS,
    CREATE_DELEGATION_TOKEN,
    RENEW_DELEGATION_TOKEN,
    EXPIRE_DELEGATION_TOKEN,
    ELECT_LEADERS,
    INCREMENTAL_ALTER_CONFIGS,
    ALTER_PARTITION_REASSIGNMENTS,
    LIST_PARTITION_REASSIGNMENTS,
    ALTER_CLIENT_QUOTAS,
    ALTER_USER_SCRAM_CREDENTIALS,
    UPDATE_FEATURES,
    UNREGISTER_BROKER,
    UNREGISTER_CONTROLLER,
)
"""The APIs of clients, which may call any broker: it forwards them."""

API_KEYS = (
    *FORWARDED_KEYS,
    ALTER_PARTITION,
    DESCRIBE_ACLS,
    DESCRIBE_CLUSTER,
    DESCRIBE_DELEGATION_TOKEN,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    CONTROLLER_REGISTRATION,
    ASSIGN_REPLICAS_TO_DIRS,
    BrokerRegistrationRequest.API_KEY,
    BrokerHeartbeatRequest.API_KEY,
    AllocateProducerIdsRequest.API_KEY,
)
"""The APIs of `ControllerApis.handle`, each with all versions of Kafka."""


class ControllerRequestContext(Protocol):
    """The connection of a request and its client, as far as handlers need them."""

    @property
    def api_version(self) -> int:
        """The version of the request."""

    @property
    def listener_name(self) -> str:
        """The listener that the client is connected to."""

    @property
    def security_protocol(self) -> str:
        """The security protocol of that listener."""

    @property
    def principal(self) -> str:
        """The client's principal, also if a broker forwarded the request."""

    @property
    def token_authenticated(self) -> bool:
        """Whether the client has authenticated with a delegation token."""

    @property
    def rights(self) -> Rights:
        """The rights of the client."""

    @property
    def quota(self) -> MutationQuota | None:
        """The quota on partitions that the client may change; None: no quota."""


class ControllerApis:
    """The request handlers by API key."""

    def __init__(
        self,
        settings: ControllerSettings,
        controller: QuorumController,
        scheduler: Scheduler,
        slices: Slices | None = None,
    ) -> None:
        """`slices` runs long requests in turns; None: without pause."""
        self._slices = slices
        self._settings = settings
        self._controller = controller
        self._scheduler = scheduler
        self._handlers: dict[int, Handler] = {
            AllocateProducerIdsRequest.API_KEY: self._allocate_producer_ids,
            BrokerRegistrationRequest.API_KEY: self._register_broker,
            BrokerHeartbeatRequest.API_KEY: self._broker_heartbeat,
        }

    def handle(self, context: ControllerRequestContext, request: Any, respond: Respond) -> None:
        """Answer `request` through `respond`: a Describe request at once, others after their
        decision is committed; some errors at once."""
        handler = self._handlers.get(request.API_KEY)
        if handler is None:
            self._import_admin_handlers()
            handler = self._handlers[request.API_KEY]
        handler(context, request, respond)

    def _import_admin_handlers(self) -> None:
        """Import the handlers of all other APIs and register them by API key, at the first such
        request, so that a start is quick."""
        from controller.requests.acl_requests import AclRequests
        from controller.requests.cluster_requests import ClusterRequests
        from controller.requests.config_requests import ConfigRequests
        from controller.requests.delegation_token_requests import DelegationTokenRequests
        from controller.requests.long_requests import LongRequests
        from controller.requests.partition_requests import PartitionRequests
        from controller.requests.quota_requests import QuotaRequests
        from controller.requests.scram_requests import ScramRequests
        from controller.requests.topic_requests import TopicRequests

        timeouts = RequestTimeouts(self._controller, self._scheduler)
        long = LongRequests(self._controller, timeouts, self._slices)
        topics = TopicRequests(self._settings, self._controller, long)
        configs = ConfigRequests(self._controller, long, self._settings.policies)
        partitions = PartitionRequests(self._controller, long, self._settings.hosting)
        cluster = ClusterRequests(self._settings, self._controller, long)
        quotas = QuotaRequests(long)
        scram = ScramRequests(self._controller, long)
        acls = AclRequests(self._controller, long)
        key = self._settings.token_key
        tokens = DelegationTokenRequests(key, self._controller, self._scheduler)
        self._handlers |= {
            CREATE_TOPICS: topics.create_topics,
            DELETE_TOPICS: topics.delete_topics,
            CREATE_PARTITIONS: topics.create_partitions,
            ALTER_CONFIGS: configs.alter_configs,
            INCREMENTAL_ALTER_CONFIGS: configs.incremental_alter_configs,
            ALTER_PARTITION: partitions.alter_partition,
            ELECT_LEADERS: partitions.elect_leaders,
            ALTER_PARTITION_REASSIGNMENTS: partitions.alter_reassignments,
            LIST_PARTITION_REASSIGNMENTS: partitions.list_reassignments,
            ASSIGN_REPLICAS_TO_DIRS: partitions.assign_replicas_to_dirs,
            UNREGISTER_BROKER: cluster.unregister_broker,
            CONTROLLER_REGISTRATION: cluster.register_controller,
            UNREGISTER_CONTROLLER: cluster.unregister_controller,
            UPDATE_FEATURES: cluster.update_features,
            DESCRIBE_CLUSTER: cluster.describe_cluster,
            ALTER_CLIENT_QUOTAS: quotas.alter,
            ALTER_USER_SCRAM_CREDENTIALS: scram.alter,
            DESCRIBE_USER_SCRAM_CREDENTIALS: scram.describe,
            DESCRIBE_ACLS: acls.describe,
            CREATE_ACLS: acls.create,
            DELETE_ACLS: acls.delete,
            CREATE_DELEGATION_TOKEN: tokens.create,
            RENEW_DELEGATION_TOKEN: tokens.renew,
            EXPIRE_DELEGATION_TOKEN: tokens.expire,
            DESCRIBE_DELEGATION_TOKEN: tokens.describe,
        }

    def _allocate_producer_ids(
        self,
        context: ControllerRequestContext,
        request: AllocateProducerIdsRequest,
        respond: Respond,
    ) -> None:
        """Reserve a block of producer ids for a broker, and respond with it after the commit. Needs
        ClusterAction on the cluster."""

        def decide(view: DecisionView) -> Decision[ProducerIdsBlock]:
            return allocate_producer_ids(view, request.broker_id, request.broker_epoch)

        def reply(outcome: ProducerIdsBlock | ApiError) -> None:
            """Respond with the first id and the size of the block, or with the error code."""
            if isinstance(outcome, ApiError):
                respond(AllocateProducerIdsResponse(error_code=outcome.code))
            else:
                respond(
                    AllocateProducerIdsResponse(
                        producer_id_start=outcome.first, producer_id_len=outcome.size
                    )
                )

        self._submit_for_node(context, "allocate producer ids", decide, reply)

    def _register_broker(
        self,
        context: ControllerRequestContext,
        request: BrokerRegistrationRequest,
        respond: Respond,
    ) -> None:
        """Register a broker, and respond with its broker epoch after the commit. Needs
        ClusterAction on the cluster."""

        def reply(outcome: int | ApiError) -> None:
            """Respond with the broker epoch, or with the error code."""
            if isinstance(outcome, ApiError):
                respond(BrokerRegistrationResponse(error_code=outcome.code))
            else:
                respond(BrokerRegistrationResponse(broker_epoch=outcome))

        self._submit_for_node(
            context, "register broker", partial(self._decide_registration, request), reply
        )

    def _decide_registration(
        self, request: BrokerRegistrationRequest, view: DecisionView
    ) -> Decision[int]:
        """Return the decision that registers the broker; its reply is the broker epoch."""
        return self._controller.cluster.register(view, request)

    def _broker_heartbeat(
        self, context: ControllerRequestContext, request: BrokerHeartbeatRequest, respond: Respond
    ) -> None:
        """Renew a broker's session, and fence, unfence or shut it down as it wants. Respond with
        its state after the commit. Needs ClusterAction on the cluster."""

        def decide(view: DecisionView) -> Decision[HeartbeatReply]:
            return self._controller.cluster.heartbeat(view, request)

        def reply(outcome: HeartbeatReply | ApiError) -> None:
            """Respond with the broker's state, or with the error code."""
            if isinstance(outcome, ApiError):
                respond(BrokerHeartbeatResponse(error_code=outcome.code))
                return
            respond(
                BrokerHeartbeatResponse(
                    error_code=ErrorCode.NONE,
                    is_caught_up=outcome.is_caught_up,
                    is_fenced=outcome.is_fenced,
                    should_shut_down=outcome.should_shut_down,
                )
            )

        self._submit_for_node(context, "broker heartbeat", decide, reply)

    def _submit_for_node(
        self,
        context: ControllerRequestContext,
        name: str,
        decide: Callable[[DecisionView], Decision[T]],
        reply: Callable[[T | ApiError], None],
    ) -> None:
        """Submit a request that a node sends in its own name. Without ClusterAction on the cluster,
        `reply` gets CLUSTER_AUTHORIZATION_FAILED."""
        allowed = if_allowed(context, Operation.CLUSTER_ACTION, decide)
        self._controller.submit(name, allowed, reply)
