"""AlterConfigs: v0-2, IncrementalAlterConfigs: v0-1 (KIP-339, KIP-412).

Behaviour: each resource succeeds or fails by itself. This broker handles what only it can check:
the levels of its loggers, which are set here and not forwarded, and its own dynamic configs. All
others, and valid broker configs, are forwarded to the controller in one request, and the answers
are joined. Before that, another thread loads the key stores of a listener that changes. If a
resource is named twice, all its mentions are rejected; so is a resource with a key that is named
twice, or with a null value.

Rights: AlterConfigs. The controller authorizes what is forwarded. Changes to this broker and its
loggers need the right on the cluster, which is checked here first, before any value.

Versions: AlterConfigs v2 and IncrementalAlterConfigs v1 are flexible.

Follows Kafka's `ConfigAdminManager`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from broker.apis.broker_loggers import LEVELS, ROOT, BrokerLoggers
from broker.apis.cluster_view import ImageSource
from broker.config.dynamic import (
    SecurityValidator,
    dynamic_config_fault,
    nothing_to_load,
)
from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.values import BrokerConfig
from broker.requests.context import Api, Handle, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.metadata.image import ResourceType
from ground.config_def import ConfigType
from ground.java_literals import integer
from ground.ports import Blocking
from ground.sliced_work import Pace, Steps, in_bulk
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.messages import alter_configs as replacing
from protocol.messages import incremental_alter_configs as incremental

# The operations of IncrementalAlterConfigs (KIP-339).
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_LIST_OPERATIONS = {_APPEND: "APPEND", _SUBTRACT: "SUBTRACT"}


class _Resource(Protocol):
    """The fields that resources of both requests have."""

    resource_type: int
    resource_name: str


class _Config(Protocol):
    """A config of either request."""

    name: str


R = TypeVar("R", bound=_Resource)
A = TypeVar("A")
C = TypeVar("C", bound=_Config)
_Load = tuple[_Resource, BrokerConfig, Collection[str]]
"""A resource that changes listeners, the new configuration, and the listeners' names."""
_Faults = Mapping[int, ApiError]
"""The errors of resources, by `id()`, because two resources may spell the same name differently."""

_log = logging.getLogger(f"ottla.{__name__}")


class AlterConfigsApis:
    """The handlers of AlterConfigs and IncrementalAlterConfigs."""

    def __init__(
        self,
        metadata: ImageSource,
        config: BrokerConfig,
        loggers: BrokerLoggers,
        controller: Handle,
        blocking: Blocking,
        answers: SlicedAnswers,
        validate_security: SecurityValidator = nothing_to_load,
    ) -> None:
        """`validate_security` loads the key stores that a change to a listener names, in
        `blocking`.
        """
        self._metadata = metadata
        self._config = config
        self._loggers = loggers
        self._controller = controller
        self._blocking = blocking
        self._answers = answers
        self._validate_security = validate_security

    def apis(self) -> list[Api]:
        """Return the two APIs, ALTER_CONFIGS and INCREMENTAL_ALTER_CONFIGS."""
        return [
            Api(ApiKey.ALTER_CONFIGS, 0, 2, self.handle, refuse_alter_configs),
            Api(
                ApiKey.INCREMENTAL_ALTER_CONFIGS,
                0,
                1,
                self.handle_incremental,
                refuse_incremental_alter_configs,
            ),
        ]

    # --- AlterConfigs ----------------------------------------------------------------------------

    def handle(
        self, context: RequestContext, request: replacing.AlterConfigsRequest, respond: Respond
    ) -> None:
        """Answer invalid resources here, and forward the valid ones to the controller.

        The response has the results of both. Changed key stores are loaded in another thread first.
        """
        change = _Change[replacing.AlterConfigsResource, replacing.AlterConfigsResourceResponse](
            _alter_answer
        )

        def answered(response: replacing.AlterConfigsResponse) -> None:
            """Respond with the results that this broker settled, then those of the controller."""
            response.responses = [*change.settled, *response.responses]
            respond(response)

        def forward(left: list[replacing.AlterConfigsResource]) -> None:
            """Forward the resources in `left` to the controller; respond now if there are none."""
            if left:
                forwarded = replacing.AlterConfigsRequest(left, request.validate_only)
                self._controller(context, forwarded, answered)
            else:
                answered(replacing.AlterConfigsResponse())

        def loaded(faults: _Faults) -> None:
            """Settle the resources whose key stores have `faults`, and forward the others."""
            steps = change.left(faults, lambda resource: resource)
            self._answers.judge(context, request, steps, forward, respond, refuse_alter_configs)

        steps = change.sort_out(
            request.resources,
            lambda resource: self._replacing_fault(context.rights, resource, change.loads),
        )
        self._answers.judge(
            context,
            request,
            steps,
            lambda _: self._load(change.loads, loaded),
            respond,
            refuse_alter_configs,
        )

    def _replacing_fault(
        self, rights: Rights, resource: replacing.AlterConfigsResource, loads: list[_Load]
    ) -> Steps[ApiError | None]:
        """Return the error of a resource, or None if it may be forwarded to the controller. Beyond
        repeated keys and null values, only brokers' resources are checked here.

        Adds to `loads` the listeners' configs that must be loaded to find further errors.
        """
        fault = yield from _keys_fault(resource.configs, lambda config: config.value is None)
        if fault is not None or resource.resource_type != ResourceType.BROKER:
            return fault
        name = resource.resource_name
        fault = _denial(rights) or self._broker_name_fault(name)
        if fault is not None:
            return fault
        after = {
            config.name: config.value for config in resource.configs if config.value is not None
        }
        return self._broker_fault(resource, after, after, loads)

    # --- IncrementalAlterConfigs -----------------------------------------------------------------

    def handle_incremental(
        self,
        context: RequestContext,
        request: incremental.IncrementalAlterConfigsRequest,
        respond: Respond,
    ) -> None:
        """Answer invalid resources here, and forward the valid ones to the controller.

        Log levels are set in this broker and not forwarded. Changed key stores are loaded in
        another thread first.
        """
        change = _Change[
            incremental.AlterConfigsResource, incremental.AlterConfigsResourceResponse
        ](_incremental_answer)

        def answered(response: incremental.IncrementalAlterConfigsResponse) -> None:
            """Respond with the results that this broker settled, then those of the controller."""
            response.responses = [*change.settled, *response.responses]
            respond(response)

        def forward(left: list[incremental.AlterConfigsResource]) -> None:
            """Forward the resources in `left` to the controller; respond now if there are none."""
            if left:
                forwarded = incremental.IncrementalAlterConfigsRequest(left, request.validate_only)
                self._controller(context, forwarded, answered)
            else:
                answered(incremental.IncrementalAlterConfigsResponse())

        def loaded(faults: _Faults) -> None:
            """Settle the resources whose key stores have `faults`, and forward the others."""
            steps = change.left(faults, self._with_lists_combined)
            self._answers.judge(
                context, request, steps, forward, respond, refuse_incremental_alter_configs
            )

        def fault(resource: incremental.AlterConfigsResource) -> Steps[ApiError | None]:
            """Return the error of a resource, or None if it may be forwarded. Set valid log levels,
            unless the request only validates, and return NONE for these."""
            error = yield from self._incremental_fault(context.rights, resource, change.loads)
            if error is None and resource.resource_type == ResourceType.BROKER_LOGGER:
                if not request.validate_only:
                    self._set_levels(resource)
                return ApiError(ErrorCode.NONE)
            return error

        self._answers.judge(
            context,
            request,
            change.sort_out(request.resources, fault),
            lambda _: self._load(change.loads, loaded),
            respond,
            refuse_incremental_alter_configs,
        )

    def _incremental_fault(
        self, rights: Rights, resource: incremental.AlterConfigsResource, loads: list[_Load]
    ) -> Steps[ApiError | None]:
        """Return the error of a resource, or None if this broker finds none. Beyond keys and null
        values, only brokers and their loggers are checked; the controller checks the rest.

        Adds to `loads` the listeners' configs that must be loaded to find further errors.
        """
        fault = yield from _keys_fault(resource.configs, _is_null)
        if fault is not None:
            return fault
        kind, name = resource.resource_type, resource.resource_name
        if kind == ResourceType.BROKER_LOGGER:
            return _denial(rights) or self._loggers_fault(name, resource.configs)
        if kind == ResourceType.BROKER:
            fault = (
                _denial(rights)
                or self._broker_name_fault(name)
                or _operations_fault(resource.configs)
            )
            if fault is not None:  # lists with such operations cannot be combined
                return fault
            set_now = [
                config.name for config in resource.configs if config.config_operation == _SET
            ]
            after = self._broker_config_after(name, resource.configs)
            return self._broker_fault(resource, after, set_now, loads)
        return None

    def _broker_config_after(
        self, name: str, changes: Iterable[incremental.AlterableConfig]
    ) -> Mapping[str, str]:
        """Return the dynamic config of broker `name` after these changes; nothing is stored.

        The empty name is the default of all brokers.
        """
        after = dict(self._metadata.image.config(ResourceType.BROKER, name))
        for change in changes:
            if change.config_operation == _DELETE:
                after.pop(change.name, None)
            elif change.config_operation == _SET:
                after[change.name] = change.value or ""
            else:
                after[change.name] = _combined(change, after)
        return after

    def _with_lists_combined(
        self, resource: incremental.AlterConfigsResource
    ) -> incremental.AlterConfigsResource:
        """Return a broker resource with each changed list set to its new value.

        The controller does not know which keys are lists.
        """
        if resource.resource_type != ResourceType.BROKER:
            return resource
        after = self._broker_config_after(resource.resource_name, resource.configs)
        changes = [
            change
            if change.config_operation == _DELETE
            else incremental.AlterableConfig(change.name, _SET, after[change.name])
            for change in resource.configs
        ]
        return incremental.AlterConfigsResource(
            resource.resource_type, resource.resource_name, changes
        )

    # --- brokers ---------------------------------------------------------------------------------

    def _broker_name_fault(self, name: str) -> ApiError | None:
        """Return the error if `name` is not empty (the default of all brokers) and not this
        broker's id.
        """
        if not name:
            return None
        broker_id = integer(name, 32)
        if broker_id is None:
            return _refused(f"Node id must be an integer, but it is: {name}")
        if broker_id != self._config.node_id:
            expected = self._config.node_id
            return _refused(f"Unexpected broker id, expected {expected}, but received {name}")
        return None

    def _broker_fault(
        self,
        resource: _Resource,
        after: Mapping[str, str],
        set_now: Collection[str],
        loads: list[_Load],
    ) -> ApiError | None:
        """Return the error that is known before anything is loaded; None if there is none.

        `loads` gets the listeners' configuration that must be loaded to find further errors.
        """

        def load_later(new: BrokerConfig, listeners: Collection[str]) -> None:
            """Add the listeners and their new configuration to `loads`, and find no error."""
            loads.append((resource, new, listeners))

        image, name = self._metadata.image, resource.resource_name
        before = image.config(ResourceType.BROKER, name)
        other = "" if name else str(self._config.node_id)
        return dynamic_config_fault(
            self._config,
            before,
            after,
            one_broker=bool(name),
            other_level=image.config(ResourceType.BROKER, other),
            set_now=set_now,
            validate=load_later,
        )

    def _load(self, loads: Collection[_Load], done: Callable[[_Faults], None]) -> None:
        """Load the key stores in another thread, and call `done` with the errors; at once if there
        are none to load. If the check itself fails, log that, and pass UNKNOWN_SERVER_ERROR for
        each resource."""
        if not loads:
            done({})
            return

        def loaded(faults: _Faults | None, error: Exception | None) -> None:
            """Call `done` with the faults. If there are none because of `error`, log it, and pass
            UNKNOWN_SERVER_ERROR for each resource."""
            if faults is None:
                _log.error("A change of listeners cannot be checked", exc_info=error)
                unknown = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
                faults = {id(resource): unknown for resource, _, _ in loads}
            done(faults)

        self._blocking.submit(partial(_faults_of, self._validate_security, loads), loaded)

    # --- loggers ---------------------------------------------------------------------------------

    def _loggers_fault(
        self, name: str, changes: Iterable[incremental.AlterableConfig]
    ) -> ApiError | None:
        """Return the first error of changes of log levels, or None if all are valid; nothing is
        set.
        """
        node_id = integer(name, 32)
        if node_id is None:
            return _refused(f"Node id must be an integer, but it is: {name}")
        if node_id != self._config.node_id:
            expected = self._config.node_id
            return _refused(f"Unexpected node id. Expected {expected}, but received {node_id}")
        return next(filter(None, map(self._logger_fault, changes)), None)

    def _logger_fault(self, change: incremental.AlterableConfig) -> ApiError | None:
        """Return the error of one change of a log level, or None if it is valid."""
        logger, operation = change.name, change.config_operation
        if operation in _LIST_OPERATIONS:
            shown = _LIST_OPERATIONS[operation]
            return _refused(f"{shown} operation is not allowed for the BROKER_LOGGER resource")
        if operation not in (_SET, _DELETE):
            return _refused(f"Unknown operations type {operation}")
        if not self._loggers.exists(logger):
            return ApiError(ErrorCode.INVALID_CONFIG, f"Logger {logger} does not exist!")
        if operation == _SET and change.value not in LEVELS:
            text = (
                f"Cannot set the log level of {logger} to {change.value} as it is not a supported "
                f"log level. Valid log levels are {', '.join(sorted(LEVELS))}"
            )
            return ApiError(ErrorCode.INVALID_CONFIG, text)
        if operation == _DELETE and logger == ROOT:
            return _refused("Removing the log level of the root logger is not allowed")
        return None

    def _set_levels(self, resource: incremental.AlterConfigsResource) -> None:
        """Set or clear the levels of valid changes in this process; they are not stored."""
        for change in resource.configs:
            if change.config_operation == _SET:
                assert change.value is not None
                self._loggers.set_level(change.name, change.value)
            else:
                self._loggers.clear_level(change.name)


def _denial(rights: Rights) -> ApiError | None:
    """Return the error if the client may not change the configs of a broker or its loggers, else
    None. It has no text, other than the controller's."""
    if rights.allows_on_cluster(Operation.ALTER_CONFIGS):
        return None
    return ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def _faults_of(validate: SecurityValidator, loads: Iterable[_Load]) -> _Faults:
    """Load the key stores of each resource. Return the errors by `id` of the resource; resources
    without an error are left out."""
    faults = {id(resource): validate(new, listeners) for resource, new, listeners in loads}
    return {key: fault for key, fault in faults.items() if fault is not None}


class _Change(Generic[R, A]):
    """The resources of a request: those answered already, and those for the controller."""

    def __init__(self, answer: Callable[[R, ApiError], A]) -> None:
        self._answer = answer
        self._remaining: list[R] = []
        self.settled: list[A] = []
        self.loads: list[_Load] = []

    def sort_out(
        self, resources: list[R], fault_of: Callable[[R], Steps[ApiError | None]]
    ) -> Steps[None]:
        """Add to `settled` the answers to resources that have an error or are named more than once.
        Keep the others for `left`."""
        counts = Counter[tuple[int, str]]()
        yield from in_bulk(
            counts.update,
            ((resource_id.resource_type, resource_id.resource_name) for resource_id in resources),
        )
        pace = Pace()
        for resource in resources:
            if pace.is_full():
                yield None
            fault: ApiError | None = _NAMED_TWICE
            if counts[resource.resource_type, resource.resource_name] == 1:
                fault = yield from fault_of(resource)
            if fault is None:
                self._remaining.append(resource)
            else:
                self.settled.append(self._answer(resource, fault))

    def left(self, faults: _Faults, combined: Callable[[R], R]) -> Steps[list[R]]:
        """Return the resources without an error, changed by `combined`, for the controller. Add to
        `settled` the answers to those with an error in `faults`."""
        left: list[R] = []
        pace = Pace()
        for resource in self._remaining:
            if pace.is_full():
                yield None
            fault = faults.get(id(resource))
            if fault is None:
                left.append(combined(resource))
            else:
                self.settled.append(self._answer(resource, fault))
        return left


def _keys_fault(configs: Sequence[C], is_null: Callable[[C], bool]) -> Steps[ApiError | None]:
    """Return an error if a key is named twice or has a null value where it needs one, else None."""
    names: set[str] = set()
    nulls: list[str] = []

    def collect(slice_configs: Iterable[C]) -> None:
        """Collect the names of these configs, and of those with a null value."""
        names.update([config.name for config in slice_configs])
        nulls.extend([config.name for config in slice_configs if is_null(config)])

    yield from in_bulk(collect, configs)
    if nulls:
        return _refused(f"Null value not supported for : {','.join(nulls)}")
    if len(names) != len(configs):
        return _refused("Error due to duplicate config keys")
    return None


def _is_null(change: incremental.AlterableConfig) -> bool:
    """Return True for a null value in any operation but DELETE, which needs none."""
    return change.value is None and change.config_operation != _DELETE


def _operations_fault(changes: Iterable[incremental.AlterableConfig]) -> ApiError | None:
    """Return the first error, or None: an unknown operation, or APPEND or SUBTRACT on a broker key
    that is no list."""
    for change in changes:
        operation = change.config_operation
        if operation not in (_SET, _DELETE, _APPEND, _SUBTRACT):
            return _refused(f"Unknown operations type {operation}")
        key = BROKER_CONFIG_DEF.get(change.name)
        is_list = key is not None and key.type is ConfigType.LIST
        if operation in _LIST_OPERATIONS and not is_list:
            shown = _LIST_OPERATIONS[operation].lower()
            text = f"Config value {shown} is not allowed for config key: {change.name}"
            return ApiError(ErrorCode.INVALID_CONFIG, text)
    return None


def _combined(change: incremental.AlterableConfig, configs: Mapping[str, str]) -> str:
    """Return a list's value with elements appended or subtracted.

    A list that was not set starts with its default.
    """
    current = configs.get(change.name, BROKER_CONFIG_DEF[change.name].default or "")
    parts, elements = _parts(current), dict.fromkeys(_parts(change.value or ""))
    if change.config_operation == _APPEND:
        return ",".join(dict.fromkeys([*parts, *elements]))
    return ",".join(part for part in parts if part not in elements)


def _parts(text: str) -> list[str]:
    """Return the elements of a comma-separated list, stripped, without empty ones."""
    return [part for part in (piece.strip() for piece in text.split(",")) if part]


def _refused(text: str) -> ApiError:
    """Return INVALID_REQUEST with this message."""
    return ApiError(ErrorCode.INVALID_REQUEST, text)


_NAMED_TWICE = _refused("Each resource must appear at most once.")


def _alter_answer(
    resource: replacing.AlterConfigsResource, error: ApiError
) -> replacing.AlterConfigsResourceResponse:
    return replacing.AlterConfigsResourceResponse(
        int(error.code), error.message, resource.resource_type, resource.resource_name
    )


def _incremental_answer(
    resource: incremental.AlterConfigsResource, error: ApiError
) -> incremental.AlterConfigsResourceResponse:
    return incremental.AlterConfigsResourceResponse(
        int(error.code), error.message, resource.resource_type, resource.resource_name
    )


def refuse_alter_configs(
    request: replacing.AlterConfigsRequest, error: ErrorCode
) -> replacing.AlterConfigsResponse:
    """Return a response with `error` for every resource."""
    responses = [_alter_answer(resource, ApiError(error)) for resource in request.resources]
    return replacing.AlterConfigsResponse(responses=responses)


def refuse_incremental_alter_configs(
    request: incremental.IncrementalAlterConfigsRequest, error: ErrorCode
) -> incremental.IncrementalAlterConfigsResponse:
    """Return a response with `error` for every resource."""
    responses = [_incremental_answer(resource, ApiError(error)) for resource in request.resources]
    return incremental.IncrementalAlterConfigsResponse(responses=responses)
