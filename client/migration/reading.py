"""The requests of the check of a migration: reads a whole cluster into a `ClusterContents`.

Changes nothing. A part that cannot be read, such as for lack of a right, is named with the reason,
and the other parts are read all the same. Brokers leave out silently what a login may not see, so
the login's rights are read first. Owns no connection but those to nodes that are no brokers.

Follows KIP-35 (ApiVersions), KIP-226 (DescribeConfigs), KIP-430 (authorized operations), KIP-664
(ListTransactions), KIP-853 (the addresses of voters in DescribeQuorum), KIP-1142
(ListConfigResources).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import ApiNotServed, BlockingClient
from client.access.acls import Filter, find
from client.access.users import credentials
from client.cluster import ClusterClient
from client.cluster_status import METADATA_TOPIC, ClusterStatus, StatusRefused, fetch_status
from client.configs.settings import BROKER as BROKER_TYPE
from client.configs.settings import (
    CLIENT_METRICS,
    GROUP,
    OWN_SOURCES,
    RESOURCE_WORDS,
    TOPIC,
    ConfigResource,
)
from client.core.groups import CONSUMER
from client.core.operation import Answer
from client.groups.groups import by_coordinator
from client.migration.contents import (
    BROKER,
    CONTROLLER,
    ClusterContents,
    GroupContents,
    NodeContents,
    ResourceName,
    SetConfig,
    UnreadPart,
)
from client.operations import operations_on_cluster
from client.refusals import Refused, why
from client.transactions import listing
from controller.metadata.acl import Acl
from controller.metadata.client_quotas import ClientQuotas, quota_entity
from ground.config_def import ConfigSource
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import Request, answer_to
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
)
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

T = TypeVar("T")

API_VERSIONS_VERSION = 4
RESOURCES_A_REQUEST = 200
GROUPS_A_REQUEST = 100
PROBE = "ottla-migrate-check"
"""A transactional id that need not exist: the answer says whether this login may see all ids."""
_TOKEN_KEY = "delegation.token.secret.key"
_BROKER_LOGGER = 8
_READ_TYPES = frozenset((*RESOURCE_WORDS, _BROKER_LOGGER))
"""The types of resources that this module reads, and loggers, which are no part of a migration."""
_DESCRIBE, _DESCRIBE_CONFIGS = "Describe on the cluster", "DescribeConfigs on the cluster"
_NO_TOKENS = (ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, ErrorCode.NONE)


def read_cluster(cluster: ClusterClient, now_ms: int) -> ClusterContents:
    """Read everything that the check of a migration is about. `now_ms` is the present time in ms
    since 1970.

    Raises StartError if the cluster does not answer at all.
    """
    return _Reader(cluster).read(now_ms)


class _Reader:
    """The reading of a cluster, with the parts that could not be read."""

    def __init__(self, cluster: ClusterClient) -> None:
        self._cluster = cluster
        self._unread: list[UnreadPart] = []
        self._rights: frozenset[Operation] | None = None
        self._features: dict[str, int] | None = None

    def read(self, now_ms: int) -> ClusterContents:
        """Return what the cluster has at `now_ms`. Raises StartError if it does not answer."""
        metadata = self._cluster.metadata(None)
        self._rights = operations_on_cluster(self._cluster)
        resources = self._resources()
        topics = self._topic_names([topic.name or "" for topic in metadata.topics], resources)
        nodes = self._brokers()
        no_nodes: list[NodeContents] = []
        self._part("delegation tokens", partial(self._tokens, nodes), None)
        return ClusterContents(
            now_ms=now_ms,
            all_brokers=self._configs(BROKER_TYPE, [""]).get("", []),
            topics=self._configs(TOPIC, topics),
            group_configs=self._configs(GROUP, _names(resources, GROUP)),
            client_metrics=self._configs(CLIENT_METRICS, _names(resources, CLIENT_METRICS)),
            other_resources=[listed for listed in resources if listed.type not in _READ_TYPES],
            acls=self._part("ACLs", self._acls, []),
            quotas=self._part("quotas", self._quotas, {}),
            scram_mechanisms=self._part("SCRAM users", self._scram, {}),
            groups=self._part("groups", self._groups, []),
            transactions=self._part("transactions", self._transactions, []),
            features=self._finalized(),
            # At the end: without a quorum, the response to DescribeQuorum may never come.
            nodes=[*nodes, *self._part("controllers", partial(self._controllers, nodes), no_nodes)],
            status=self._part("brokers, quorum and partitions", self._status, None),
            unread=self._unread,
        )

    def _part(self, place: str, read: Callable[[], T], default: T) -> T:
        """Return what `read` returns; `default`, and note the reason, if it cannot be read."""
        try:
            return read()
        except (Refused, StartError, StatusRefused) as error:
            self._unread.append(UnreadPart(place, str(error)))
            return default

    def _need(self, operation: Operation, needs: str) -> None:
        """Raise Refused if this login lacks the right to an operation on the cluster, `needs` in
        words."""
        if self._rights is not None and operation not in self._rights:
            raise Refused(why(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None, needs))

    # --- nodes ------------------------------------------------------------------------------------

    def _brokers(self) -> list[NodeContents]:
        """Return the brokers that answer; note the others."""
        nodes = []
        for node_id in self._cluster.broker_ids:
            place = f"{BROKER} {node_id}"
            node = self._part(place, partial(self._broker, node_id), None)
            nodes += [] if node is None else [node]
        return nodes

    def _broker(self, node_id: int) -> NodeContents:
        """Return a broker with its APIs and its configs. Raises Refused, StartError."""
        request = ApiVersionsRequest("ottla", "1")
        answer = self._cluster.call_at(node_id, request, ApiVersionsResponse, API_VERSIONS_VERSION)
        self._note_features(answer)
        configs = self._configs(BROKER_TYPE, [str(node_id)], node_id).get(str(node_id), [])
        return NodeContents(node_id, BROKER, _apis(answer), configs)

    def _note_features(self, answer: ApiVersionsResponse) -> None:
        """Keep the finalized levels of the first node that names them."""
        if self._features is None and answer.finalized_features_epoch >= 0:
            self._features = {
                feature.name: feature.max_version_level for feature in answer.finalized_features
            }

    def _finalized(self) -> dict[str, int] | None:
        """Return the finalized levels; None, and note it, if no broker names them."""
        if self._features is None:
            self._unread.append(UnreadPart("features", "no broker names the finalized levels"))
        return self._features

    def _controllers(self, brokers: Sequence[NodeContents]) -> list[NodeContents]:
        """Return the controllers that are no brokers and answer; note the others. Raises Refused,
        StartError."""
        self._need(Operation.DESCRIBE, _DESCRIBE)
        log = DescribeQuorumRequestTopicData(
            METADATA_TOPIC, [DescribeQuorumRequestPartitionData(0)]
        )
        answer = self._cluster.call(DescribeQuorumRequest([log]), DescribeQuorumResponse)
        if answer.error_code:
            raise Refused(why(answer.error_code, answer.error_message, _DESCRIBE))
        broker_ids = {*self._cluster.broker_ids, *(node.node_id for node in brokers)}
        nodes = []
        for node in answer.nodes:
            if node.node_id in broker_ids:
                continue
            addresses = [(listener.host, listener.port) for listener in node.listeners]
            place = f"{CONTROLLER} {node.node_id}"
            contents = self._part(
                place,
                partial(self._controller, node.node_id, addresses),
                None,
            )
            nodes += [] if contents is None else [contents]
        return nodes

    def _controller(
        self, node_id: int, addresses: Sequence[tuple[str, int]]
    ) -> NodeContents | None:
        """Return a controller that is no broker, from the first of its addresses that answers.

        Return None if it is one of Ottla's: these do not serve DescribeConfigs. Raises Refused,
        StartError.
        """
        reasons = []
        for host, port in addresses:
            try:
                with self._cluster.connection_to(host, port) as client:
                    return self._controller_at(node_id, client)
            except (OSError, ProtocolError) as error:
                reasons.append(f"{host}:{port}: {error}")
        raise StartError(
            "its configs are not known to brokers, and it does not answer with these client "
            f"properties ({'; '.join(reasons) or 'no address'})"
        )

    def _controller_at(self, node_id: int, client: BlockingClient) -> NodeContents | None:
        """Return the controller behind a connection, None if it is one of Ottla's. Raises Refused,
        OSError, ProtocolError."""
        apis = _apis(client.call(ApiVersionsRequest("ottla", "1"), API_VERSIONS_VERSION))
        name = str(node_id)
        request = DescribeConfigsRequest(
            [DescribeConfigsResource(BROKER_TYPE, name, None)], include_synonyms=True
        )
        try:
            answer = client.call(request)
        except ApiNotServed:
            return None
        configs = self._checked(BROKER_TYPE, answer.results)
        return NodeContents(node_id, CONTROLLER, apis, configs.get(name, []))

    def _status(self) -> ClusterStatus:
        """Return the state of brokers, quorum and partitions. Raises StatusRefused, StartError."""

        def call(request: Request) -> Answer:
            """Return the response to a request; None if the node lacks the API. Raises
            TimeoutError, StartError."""
            try:
                return self._cluster.call(request, answer_to(request))
            except StartError as error:
                if isinstance(error.__cause__, ApiNotServed):
                    return None
                if isinstance(error.__cause__, TimeoutError):
                    raise TimeoutError from error
                raise

        try:
            return fetch_status(call)
        except TimeoutError as error:
            raise StartError("no answer in time") from error

    # --- resources with configs -------------------------------------------------------------------

    def _resources(self) -> list[ResourceName]:
        """Return the names of all resources with configs; none, and note why, if they cannot be
        listed."""

        def read() -> list[ResourceName]:
            """Return the resources. Raises Refused, StartError."""
            answer = self._cluster.call(ListConfigResourcesRequest([]), ListConfigResourcesResponse)
            if answer.error_code:
                raise Refused(why(answer.error_code, None, _DESCRIBE_CONFIGS))
            return [
                ResourceName(listed.resource_type, listed.resource_name)
                for listed in answer.config_resources
            ]

        return self._part("names of all topics, and of groups with configs", read, [])

    def _topic_names(
        self, described: Sequence[str], resources: Sequence[ResourceName]
    ) -> list[str]:
        """Return the topics that this login sees, and note those that Metadata has left out."""
        for name in sorted({*_names(resources, TOPIC)}.difference(described)):
            reason = why(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, "Describe on the topic")
            self._unread.append(UnreadPart(f"topic {name}", reason))
        return sorted(described)

    def _configs(
        self, kind: int, names: Sequence[str], node_id: int | None = None
    ) -> dict[str, list[SetConfig]]:
        """Return the set configs of the resources of a type that can be read; note the others.

        `node_id`: the broker to ask; None: any.
        """
        configs: dict[str, list[SetConfig]] = {}
        none: dict[str, list[SetConfig]] = {}
        for start in range(0, len(names), RESOURCES_A_REQUEST):
            resources = [
                DescribeConfigsResource(kind, name, None)
                for name in names[start : start + RESOURCES_A_REQUEST]
            ]
            request = DescribeConfigsRequest(resources, include_synonyms=True)
            configs |= self._part(
                f"configs of {RESOURCE_WORDS[kind]}s" if node_id is None else f"broker {node_id}",
                partial(self._described, kind, request, node_id),
                none,
            )
        return configs

    def _described(
        self, kind: int, request: DescribeConfigsRequest, node_id: int | None
    ) -> dict[str, list[SetConfig]]:
        """Return the set configs as broker `node_id` describes them; None: any broker. Raises
        StartError."""
        answer = (
            self._cluster.call(request, DescribeConfigsResponse)
            if node_id is None
            else self._cluster.call_at(node_id, request, DescribeConfigsResponse)
        )
        return self._checked(kind, answer.results)

    def _checked(
        self, kind: int, results: Sequence[DescribeConfigsResult]
    ) -> dict[str, list[SetConfig]]:
        """Return the set configs by the name of the resource; note those with an error."""
        configs = {}
        for result in results:
            resource = ConfigResource(kind, result.resource_name)
            if result.error_code:
                needs = f"DescribeConfigs on {_right_of(kind)}"
                reason = why(result.error_code, result.error_message, needs)
                self._unread.append(UnreadPart(f"configs of {resource}", reason))
            else:
                configs[result.resource_name] = list(_set_configs(kind, result.configs))
        return configs

    # --- access -----------------------------------------------------------------------------------

    def _acls(self) -> list[Acl]:
        """Return all ACLs, none without an authorizer. Raises Refused, StartError."""
        try:
            return find(self._cluster.call, [Filter()])
        except Refused as error:
            if str(error) == why(ErrorCode.SECURITY_DISABLED, None, ""):
                return []
            raise

    def _quotas(self) -> ClientQuotas:
        """Return all quotas by their entities. Raises Refused, StartError."""
        answer = self._cluster.call(DescribeClientQuotasRequest([]), DescribeClientQuotasResponse)
        if answer.error_code:
            raise Refused(why(answer.error_code, answer.error_message, _DESCRIBE_CONFIGS))
        return {
            quota_entity((part.entity_type, part.entity_name) for part in entry.entity): {
                quota.key: quota.value for quota in entry.values
            }
            for entry in answer.entries or ()
        }

    def _scram(self) -> dict[str, list[str]]:
        """Return the mechanisms of each SCRAM user. Raises Refused, StartError."""
        self._need(Operation.DESCRIBE, _DESCRIBE)  # without it, Kafka sends no response at all
        mechanisms: dict[str, list[str]] = {}
        for credential in credentials(self._cluster.call):
            mechanisms.setdefault(credential.user, []).append(credential.mechanism)
        return mechanisms

    def _tokens(self, nodes: Sequence[NodeContents]) -> None:
        """Check that the delegation tokens can be read, if there can be any. Raises Refused,
        StartError."""
        answer = self._cluster.call(
            DescribeDelegationTokenRequest(None), DescribeDelegationTokenResponse
        )
        is_enabled = any(config.name == _TOKEN_KEY for node in nodes for config in node.configs)
        if answer.error_code not in _NO_TOKENS and is_enabled:
            advice = "connect through a listener with a login"
            raise Refused(f"{ErrorCode(answer.error_code).name}: {advice}")

    # --- groups and transactions ------------------------------------------------------------------

    def _groups(self) -> list[GroupContents]:
        """Return all groups, consumer groups with their assignors. Raises Refused, StartError."""
        listed = by_coordinator(self._cluster)
        if self._rights is not None and Operation.DESCRIBE not in self._rights:
            reason = why(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None, _DESCRIBE)
            self._unread.append(UnreadPart("groups", reason))
        groups = []
        for node_id, rows in listed.items():
            consumers = [row.group for row in rows if row.type.lower() == CONSUMER]
            assignors = self._assignors(node_id, consumers)
            groups += [GroupContents(row.group, row.type, assignors.get(row.group)) for row in rows]
        return sorted(groups, key=lambda group: group.name)

    def _assignors(self, node_id: int, names: Sequence[str]) -> dict[str, str]:
        """Return the assignor of each consumer group; note the groups with an error. Raises
        StartError."""
        assignors = {}
        for start in range(0, len(names), GROUPS_A_REQUEST):
            request = ConsumerGroupDescribeRequest(list(names[start : start + GROUPS_A_REQUEST]))
            answer = self._cluster.call_at(node_id, request, ConsumerGroupDescribeResponse)
            for group in answer.groups:
                if group.error_code == ErrorCode.NONE:
                    assignors[group.group_id] = group.assignor_name
                elif group.error_code != ErrorCode.GROUP_ID_NOT_FOUND:  # it ended meanwhile
                    reason = why(group.error_code, group.error_message, "Describe on the group")
                    self._unread.append(UnreadPart(f"group {group.group_id}", reason))
        return assignors

    def _transactions(self) -> list[listing.Transaction]:
        """Return all transactions. Raises Refused, StartError."""
        rows = listing.listed(self._cluster)
        request = DescribeTransactionsRequest([PROBE])
        answer = self._cluster.call(request, DescribeTransactionsResponse)
        code = answer.transaction_states[0].error_code
        if code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            reason = why(code, None, "Describe on all transactional ids")
            self._unread.append(UnreadPart("transactions", reason))
        return sorted(listing.described(self._cluster, rows).values())


def _apis(answer: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    """Return the versions of each API by its key."""
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}


def _names(resources: Sequence[ResourceName], kind: int) -> list[str]:
    """Return the sorted names of the resources of a type."""
    return sorted(resource.name for resource in resources if resource.type == kind)


def _right_of(kind: int) -> str:
    """Return what a login needs DescribeConfigs on, to read the configs of a type of resource."""
    return f"the {RESOURCE_WORDS[kind]}" if kind in (TOPIC, GROUP) else "the cluster"


def _set_configs(
    kind: int, configs: Sequence[DescribeConfigsResourceResult]
) -> Iterator[SetConfig]:
    """Yield the value of each config at each level of the resource itself that sets it.

    A topic's values from brokers, for example, are left out: they are in the brokers' own configs.
    """
    own_sources = OWN_SOURCES[kind]
    if kind == BROKER_TYPE:
        own_sources = (*own_sources, ConfigSource.STATIC_BROKER_CONFIG)
    for config in configs:
        levels = {
            synonym.source: synonym.value
            for synonym in config.synonyms
            if synonym.name == config.name
        }
        levels.setdefault(config.config_source, config.value)
        for source, value in levels.items():
            if source in own_sources and (value is not None or config.is_sensitive):
                yield SetConfig(config.name, value, source)
