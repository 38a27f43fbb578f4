"""DescribeConfigs: v1-4.

Behaviour: returns all configs of each resource, or the named ones, with the effective value, its
source and, on request, its synonyms (KIP-226). Resources are topics, this broker, the default of
all brokers (the empty name: dynamic configs only), this broker's loggers, groups and client metrics
subscriptions. Passwords are null. An empty list of names means all, as null does.

Rights: DescribeConfigs on the topic or group; on the cluster for all other kinds. Denied resources
come last in the response.

Versions: v1 sources and synonyms, v3 types and documentation (KIP-569), v4 flexible.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from broker.apis.broker_loggers import BrokerLoggers
from broker.apis.cluster_view import ImageSource
from broker.config.description import (
    ConfigEntry,
    ServerLevels,
    describe_all_servers,
    describe_group,
    describe_server,
    describe_topic,
)
from broker.config.documentation import config_documentation
from broker.config.values import BrokerConfig
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.metadata.image import MetadataImage, ResourceType
from controller.metadata.topic_names import topic_name_fault
from controller.requests.rights import config_denial
from ground.config_def import ConfigSource, ConfigType
from ground.java_literals import integer
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, in_bulk
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.frames.encoded_items import EncodedItems, Items, encoded
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

Documentation = Callable[[int, str], str | None]

_CLIENT_METRICS = (
    ("interval.ms", "300000", ConfigType.INT),
    ("match", "", ConfigType.LIST),
    ("metrics", "", ConfigType.LIST),
)
DESCRIBED = PIECES_AT_ONCE // 4
"""The pieces of work (`Pace`) that one described resource counts as."""
ALIKE_MAX = 100
"""The most combinations of topic configs that are kept for one response."""
_UNKNOWN_TYPE = "The request is malformed: this resource type has no configs."


class DescribeConfigsApi:
    """The handler of DescribeConfigs."""

    def __init__(
        self,
        metadata: ImageSource,
        config: BrokerConfig,
        loggers: BrokerLoggers,
        answers: SlicedAnswers,
        documentation: Documentation = config_documentation,
    ) -> None:
        """`documentation(resource type, key)` returns a sentence for users, None if there is none.

        The broker's own id is `config.node_id`.
        """
        self._metadata = metadata
        self._config = config
        self._loggers = loggers
        self._answers = answers
        self._documentation = documentation

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DESCRIBE_CONFIGS, 1, 4, self.handle, refuse_describe_configs)]

    def handle(
        self, context: RequestContext, request: DescribeConfigsRequest, respond: Respond
    ) -> None:
        """Respond with the configs of each resource, or its error, as of the current metadata
        image."""
        steps = self._answer(context, request, self._metadata.image)
        self._answers.give(context, request, steps, respond, refuse_describe_configs)

    def _answer(
        self, context: RequestContext, request: DescribeConfigsRequest, image: MetadataImage
    ) -> Steps[DescribeConfigsResponse]:
        """Return the response as of `image`, in slices, also if a newer image comes between them.
        Resources that the client may not describe come last, with an error."""
        pace, alike = Pace(), _Alike(context.api_version)
        results = Items[DescribeConfigsResult](context.api_version)
        denied = Items[DescribeConfigsResult](context.api_version)
        for resource in request.resources:
            kind, name = resource.resource_type, resource.resource_name
            if pace.is_full():
                yield None
            denial = config_denial(context.rights, Operation.DESCRIBE_CONFIGS, kind, name)
            if denial is not None:
                text = denial.message or ""
                denied.add(DescribeConfigsResult(int(denial.code), text, kind, name))
                continue
            configs = alike.find(resource, image) if len(request.resources) > 1 else None
            if configs is not None:
                results.add(DescribeConfigsResult(0, "", kind, name, configs))
            else:
                if pace.is_full(DESCRIBED):
                    yield None
                result = yield from self._resource_result(resource, request, image)
                alike.keep(resource, image, result)
                results.add(result, 1 + DESCRIBED)
        results.join(denied)
        return DescribeConfigsResponse(results=results.array())

    def _resource_result(
        self,
        resource: DescribeConfigsResource,
        request: DescribeConfigsRequest,
        image: MetadataImage,
    ) -> Steps[DescribeConfigsResult]:
        """Return the configs of a resource, only the requested keys if any, or its error."""
        kind, name = resource.resource_type, resource.resource_name
        if kind == ResourceType.BROKER_LOGGER:
            described: list[DescribeConfigsResourceResult] | ApiError = self._described_loggers(
                name
            )
        else:
            entries = self._entries(kind, name, image)
            described = (
                entries
                if isinstance(entries, ApiError)
                else [self._described_entry(kind, config, request) for config in entries]
            )
        if isinstance(described, ApiError):
            return DescribeConfigsResult(int(described.code), described.message or "", kind, name)
        if resource.configuration_keys:
            names, wanted = {config.name for config in described}, set[str]()
            yield from in_bulk(
                lambda slice_keys: wanted.update(names.intersection(slice_keys)),
                resource.configuration_keys,
            )
            described = [config for config in described if config.name in wanted]
        return DescribeConfigsResult(0, "", kind, name, described)

    def _entries(
        self, kind: int, name: str, image: MetadataImage
    ) -> Iterable[ConfigEntry] | ApiError:
        """Return the entries of any resource but a BROKER_LOGGER; an ApiError if it has none."""
        if kind == ResourceType.TOPIC:
            return self._topic_entries(name, image)
        if kind == ResourceType.BROKER:
            return self._broker_entries(name, image)
        if kind == ResourceType.CLIENT_METRICS:
            return _client_metrics(name, image)
        if kind == ResourceType.GROUP:
            if not name:
                return ApiError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
            return describe_group(
                image.config(ResourceType.GROUP, name), self._server_levels(image)
            )
        return ApiError(ErrorCode.INVALID_REQUEST, _UNKNOWN_TYPE)

    def _server_levels(self, image: MetadataImage) -> ServerLevels:
        """Return the three sources of this broker's config: its file, its own and the cluster's
        dynamic one.
        """
        return ServerLevels(
            self._config,
            image.config(ResourceType.BROKER, str(self._config.node_id)),
            image.config(ResourceType.BROKER, ""),
        )

    def _topic_entries(self, name: str, image: MetadataImage) -> Iterable[ConfigEntry] | ApiError:
        """Return a topic's entries, or an ApiError if its name is invalid or it does not exist."""
        fault = topic_name_fault(name)
        if fault is not None:
            return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
        if image.topics.get(name) is None:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return describe_topic(image.config(ResourceType.TOPIC, name), self._server_levels(image))

    def _broker_entries(self, name: str, image: MetadataImage) -> Iterable[ConfigEntry] | ApiError:
        """Return this broker's entries or, for the empty name, the cluster-wide dynamic ones.

        Another name than this broker's id gives an ApiError.
        """
        if not name:
            return describe_all_servers(image.config(ResourceType.BROKER, ""))
        wrong = self._wrong_broker(name, f"expected {self._config.node_id} or empty string, but")
        return wrong or describe_server(self._server_levels(image))

    def _described_loggers(self, name: str) -> list[DescribeConfigsResourceResult] | ApiError:
        """Return the levels of this broker's loggers, or an ApiError if `name` is not its id."""
        if not name:
            return ApiError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        wrong = self._wrong_broker(name, f"expected {self._config.node_id} but")
        if wrong is not None:
            return wrong
        return [
            DescribeConfigsResourceResult(
                logger,
                self._loggers.level(logger),
                config_source=int(ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG),
            )
            for logger in self._loggers.names()
        ]

    def _wrong_broker(self, name: str, expected: str) -> ApiError | None:
        """Return the error if `name` is not this broker's id; None if it is.

        Only the broker itself has its configs and loggers.
        """
        broker_id = integer(name, 32)
        if broker_id is None:
            text = f"Broker id must be an integer, but it is: {name}"
            return ApiError(ErrorCode.INVALID_REQUEST, text)
        if broker_id != self._config.node_id:
            text = f"Unexpected broker id, {expected} received {name}"
            return ApiError(ErrorCode.INVALID_REQUEST, text)
        return None

    def _described_entry(
        self, kind: int, entry: ConfigEntry, request: DescribeConfigsRequest
    ) -> DescribeConfigsResourceResult:
        """Return the entry as the response has it, with synonyms and documentation only if they are
        requested."""
        synonyms = [
            DescribeConfigsSynonym(synonym.name, synonym.value, int(synonym.source))
            for synonym in entry.synonyms
        ]
        return DescribeConfigsResourceResult(
            entry.name,
            entry.value,
            entry.read_only,
            int(entry.source),
            entry.sensitive,
            synonyms if request.include_synonyms else [],
            int(entry.type),
            self._documentation(kind, entry.name) if request.include_documentation else None,
        )


class _Alike:
    """The configs of topics described so far, encoded, for other topics with the same configs.

    Nearly all topics of a cluster have no configs of their own, or the same ones.
    """

    def __init__(self, version: int) -> None:
        self._version = version
        self._by_configs: dict[Hashable, EncodedItems[DescribeConfigsResourceResult]] = {}

    def find(
        self, resource: DescribeConfigsResource, image: MetadataImage
    ) -> EncodedItems[DescribeConfigsResourceResult] | None:
        """Return the described configs of an earlier topic like this one; None if there is none."""
        key = _alike_key(resource, image)
        return None if key is None else self._by_configs.get(key)

    def keep(
        self,
        resource: DescribeConfigsResource,
        image: MetadataImage,
        result: DescribeConfigsResult,
    ) -> None:
        """Encode and keep the described configs of a topic for others like it. Ignore other
        resources, and topics beyond ALIKE_MAX combinations."""
        key = _alike_key(resource, image)
        if key is not None and len(self._by_configs) < ALIKE_MAX:
            self._by_configs[key] = encoded(result.configs, self._version)


def _alike_key(resource: DescribeConfigsResource, image: MetadataImage) -> Hashable:
    """Return all that the described configs of a topic depend on.

    None if the resource is not an existing topic.
    """
    name = resource.resource_name
    if resource.resource_type != ResourceType.TOPIC or image.topics.get(name) is None:
        return None
    configs = image.config(ResourceType.TOPIC, name)
    return tuple(sorted(configs.items())), tuple(resource.configuration_keys or ())


def _client_metrics(name: str, image: MetadataImage) -> list[ConfigEntry] | ApiError:
    """Return the configs of a client metrics subscription (KIP-714). An empty name gets an
    ApiError.

    A subscription that was never set has the defaults.
    """
    if not name:
        text = "Client metrics subscription name must not be empty"
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    configs = image.config(ResourceType.CLIENT_METRICS, name)
    entries = []
    for key, default, kind in _CLIENT_METRICS:
        source = (
            ConfigSource.CLIENT_METRICS_CONFIG if key in configs else ConfigSource.DEFAULT_CONFIG
        )
        value = configs.get(key, default)
        entries.append(ConfigEntry(key, value, source, False, False, kind, ()))
    return entries


def refuse_describe_configs(
    request: DescribeConfigsRequest, error: ErrorCode
) -> DescribeConfigsResponse:
    """Return a response with `error` for every resource."""
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(int(error), "", resource.resource_type, resource.resource_name)
            for resource in request.resources
        ]
    )
