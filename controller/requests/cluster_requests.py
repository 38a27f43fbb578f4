"""UnregisterBroker 0, ControllerRegistration 0, UnregisterController 0, UpdateFeatures 0-2 and
DescribeCluster 0-2.

UpdateFeatures v1: the type of an upgrade instead of a flag, validate only (KIP-778); v2: no results
for each feature, because all or none are updated (KIP-1022). DescribeCluster on a controller lists
the controllers, v1 (KIP-919). Every controller answers it from its image, which on the active one
may have uncommitted records. UnregisterController removes one of them (KIP-1312).

Rights: ClusterAction on the cluster for ControllerRegistration, Alter for the others, which for
DescribeCluster is more than a broker requires.

Owns: the form of the responses. Never: checks a level (`controller.decisions.feature_updates`).
Follows Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from controller.authorization.rights import Rights
from controller.decisions.decision import Decision, DecisionView
from controller.decisions.feature_updates import FeatureUpdate, FeatureUpdates
from controller.metadata.image import MetadataImage
from controller.metadata.version import LEVELS
from controller.quorum_controller import QuorumController
from controller.requests.long_requests import LongRequests, map_in_slices
from controller.requests.rights import CLUSTER_DENIED, RequestSender, if_allowed
from controller.settings import ControllerSettings
from ground.sliced_work import Steps
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.errors import ApiError, ErrorCode
from protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from protocol.messages.metadata_records import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
    UnregisterControllerRecord,
)
from protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from protocol.messages.unregister_controller import (
    UnregisterControllerRequest,
    UnregisterControllerResponse,
)
from protocol.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

Respond = Callable[[Any], None]

BROKER_ENDPOINTS, CONTROLLER_ENDPOINTS = 1, 2
_OPERATIONS_NOT_REQUESTED = -(2**31)
_REGISTRATION = LEVELS["3.7-IV0"]
_UNREGISTRATION = LEVELS["4.4-IV2"]
_SUCCESS = ApiError(ErrorCode.NONE, "")
"""Kafka answers the removal of a registration with an empty text, not with None."""


class ListenerContext(RequestSender, Protocol):
    """The sender of a request, with the version and the listener of its connection."""

    @property
    def api_version(self) -> int:
        """The version of the request."""

    @property
    def listener_name(self) -> str:
        """The listener that the client is connected to."""


class ClusterRequests:
    """The handlers of these APIs."""

    def __init__(
        self, settings: ControllerSettings, controller: QuorumController, long: LongRequests
    ) -> None:
        self._long = long
        self._settings = settings
        self._controller = controller
        self._features = FeatureUpdates(settings, controller.configuration, controller.quorum)

    def unregister_broker(
        self, context: RequestSender, request: UnregisterBrokerRequest, respond: Respond
    ) -> None:
        """Remove a broker's registration, and respond after the commit. Needs Alter on the cluster.
        The request is not checked for a broker that still runs."""

        def decide(view: DecisionView) -> Decision[None]:
            return self._controller.cluster.unregister(view, request.broker_id)

        def reply(outcome: ApiError | None) -> None:
            """Respond with success for None, or with the error."""
            error = outcome or _SUCCESS
            respond(UnregisterBrokerResponse(error_code=error.code, error_message=error.message))

        self._controller.submit(
            "unregister broker", if_allowed(context, Operation.ALTER, decide), reply
        )

    def register_controller(
        self, context: RequestSender, request: ControllerRegistrationRequest, respond: Respond
    ) -> None:
        """Write the registration of a controller into the metadata, and respond after the commit.
        Needs ClusterAction on the cluster, and metadata.version 3.7-IV0."""

        def decide(view: DecisionView) -> Decision[None]:
            """Return the decision that registers the controller. UNSUPPORTED_VERSION if
            metadata.version is older than 3.7-IV0."""
            if view.image.metadata_level < _REGISTRATION:
                text = "The current MetadataVersion is too old to support controller registrations."
                return Decision(ApiError(ErrorCode.UNSUPPORTED_VERSION, text))
            return Decision(None, [_controller_record(request)])

        def reply(outcome: ApiError | None) -> None:
            """Respond with success for None, or with the error."""
            response = ControllerRegistrationResponse()
            if outcome is not None:
                response.error_code, response.error_message = outcome.code, outcome.message
            respond(response)

        self._controller.submit(
            "register controller", if_allowed(context, Operation.CLUSTER_ACTION, decide), reply
        )

    def unregister_controller(
        self, context: RequestSender, request: UnregisterControllerRequest, respond: Respond
    ) -> None:
        """Remove a controller's registration, and respond after the commit. Needs Alter on the
        cluster, and metadata.version 4.4-IV2. A controller that still runs registers again."""

        def decide(view: DecisionView) -> Decision[None]:
            return _unregistration(view.image, request.controller_id, self._settings.node_id)

        def reply(outcome: ApiError | None) -> None:
            """Respond with success for None, or with the error."""
            error = outcome or _SUCCESS
            respond(UnregisterControllerResponse(0, error.code, error.message))

        self._controller.submit(
            "unregister controller", if_allowed(context, Operation.ALTER, decide), reply
        )

    def update_features(
        self, context: Any, request: UpdateFeaturesRequest, respond: Respond
    ) -> None:
        """Change finalized feature levels, all or none, or only validate that, and respond after
        the commit. Needs Alter on the cluster. `timeout_ms` is ignored, as in Kafka."""
        version = context.api_version
        # Kafka ignores the flag of version 0 too: it only ever upgrades.

        def decide(view: DecisionView) -> Steps[Decision[None]]:
            updates = yield from map_in_slices(
                request.feature_updates,
                lambda update: FeatureUpdate(
                    update.feature, update.max_version_level, update.upgrade_type
                ),
            )
            return (yield from self._features.update(view, updates, request.validate_only))

        def answer(outcome: ApiError | None) -> Steps[UpdateFeaturesResponse]:
            """Return the response: the error, or success, which up to version 1 has a result for
            each feature."""
            if outcome is not None:
                return refused_update(outcome)
            results = yield from map_in_slices(
                request.feature_updates if version < 2 else (),
                lambda update: UpdatableFeatureResult(update.feature, error_message="NONE"),
            )
            return UpdateFeaturesResponse(error_message=None, results=results)

        allowed = if_allowed(context, Operation.ALTER, decide)
        self._long.submit("update features", allowed, answer, respond)

    def describe_cluster(
        self, context: ListenerContext, request: DescribeClusterRequest, respond: Respond
    ) -> None:
        """Respond at once with the registered controllers of the quorum and its leader. Needs Alter
        on the cluster. A request for brokers is an error."""
        rights = context.rights
        if not rights.allows_on_cluster(Operation.ALTER):
            code, text = CLUSTER_DENIED.code, CLUSTER_DENIED.message
            respond(DescribeClusterResponse(error_code=code, error_message=text))
            return
        if request.endpoint_type != CONTROLLER_ENDPOINTS:
            respond(_wrong_endpoints(request.endpoint_type, context.api_version))
            return
        operations = _OPERATIONS_NOT_REQUESTED
        if request.include_cluster_authorized_operations:
            operations = _operations(rights)
        respond(
            DescribeClusterResponse(
                endpoint_type=CONTROLLER_ENDPOINTS,
                cluster_id=self._settings.cluster_id,
                controller_id=self._controller.leader_id,
                brokers=_controller_endpoints(self._controller.image, context.listener_name),
                cluster_authorized_operations=operations,
            )
        )


def _unregistration(image: MetadataImage, controller_id: int, active_id: int) -> Decision[None]:
    """Return the decision that removes a controller's registration, or the error: the controller is
    the active one or not registered, or metadata.version is older than 4.4-IV2."""
    if controller_id == active_id:
        text = "Controller cannot unregister itself while it is active."
        return Decision(ApiError(ErrorCode.INVALID_REQUEST, text))
    if image.metadata_level < _UNREGISTRATION:
        text = "The current MetadataVersion is too old to support controller unregistration."
        return Decision(ApiError(ErrorCode.UNSUPPORTED_VERSION, text))
    if controller_id not in image.controllers:
        text = f"Controller ID {controller_id} is not currently registered."
        return Decision(ApiError(ErrorCode.CONTROLLER_ID_NOT_REGISTERED, text))
    return Decision(None, [UnregisterControllerRecord(controller_id)])


def refused_update(error: ApiError) -> UpdateFeaturesResponse:
    """Return the response to rejected updates. The error of a single feature rejects all of them,
    which its text says."""
    text = error.message
    if error.code is ErrorCode.INVALID_UPDATE_VERSION:
        text = (
            f"The update failed for all features since the following feature had an error: {text}"
        )
    return UpdateFeaturesResponse(error_code=error.code, error_message=text)


def _operations(rights: Rights) -> int:
    """Return the operations allowed on the cluster as bits; 0 if Describe is not allowed."""
    if not rights.allows_on_cluster(Operation.DESCRIBE):
        return 0
    return rights.operations(Resource.CLUSTER, CLUSTER_NAME)


def _controller_record(request: ControllerRegistrationRequest) -> RegisterControllerRecord:
    """Return the record that registers the controller, with its listeners and supported
    features."""
    return RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        end_points=[
            ControllerEndpoint(
                listener.name, listener.host, listener.port, listener.security_protocol
            )
            for listener in request.listeners
        ],
        features=[
            ControllerFeature(
                feature.name, feature.min_supported_version, feature.max_supported_version
            )
            for feature in request.features
        ],
    )


def _controller_endpoints(image: MetadataImage, listener_name: str) -> list[DescribeClusterBroker]:
    """Return the registered controllers, each with its endpoint of this listener. Leave out
    controllers without such an endpoint."""
    brokers = []
    for controller in image.controllers.values():
        endpoint = controller.endpoints.get(listener_name)
        if endpoint is not None:
            brokers.append(DescribeClusterBroker(controller.id, endpoint.host, endpoint.port))
    return brokers


def _wrong_endpoints(endpoint_type: int, version: int) -> DescribeClusterResponse:
    """Return the error for an endpoint type that is not the controllers'. Version 0 of the API has
    no endpoint types."""
    if endpoint_type == BROKER_ENDPOINTS:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if version else ErrorCode.INVALID_REQUEST
        text = (
            "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of "
            "type BROKER"
        )
    else:
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        text = f"Unsupported endpoint type {endpoint_type}"
    return DescribeClusterResponse(error_code=code, error_message=text)
