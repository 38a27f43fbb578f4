"""The controller's part of a node: the APIs of the controller listener.

Owns the table of APIs that other nodes and tools can call there: the quorum's own messages,
brokers' registrations and heartbeats, and clients' requests inside Envelopes. Registers this
controller in the metadata (KIP-919), so that tools and brokers can see what it supports.

Never decides: `controller.requests.controller_apis` and `controller.raft.raft_apis` answer. Follows
Kafka's `ControllerServer` and `ControllerRegistrationManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from broker.apis.alter_configs import refuse_alter_configs, refuse_incremental_alter_configs
from broker.apis.api_versions import ApiVersionsApi
from broker.apis.envelope import EnvelopeApi
from broker.apis.forwarded import ForwardedApis
from broker.apis.sasl import SaslApi
from broker.config.endpoints import SECURITY_PROTOCOLS, EndPoint
from broker.node.control.broker_probe import BrokerProbe
from broker.node.shared_server import QUORUM_KEYS, SharedServer
from broker.quotas.client_quotas import MutationQuotas
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.request_handler import RequestHandler
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from controller.requests.controller_apis import API_KEYS, FORWARDED_KEYS
from controller.requests.scram_requests import refuse_describe_user_scram_credentials
from controller.settings import DEFAULT_FEATURES
from ottla.plugins.authorizer import Operation
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.errors import ErrorCode
from protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    Feature,
    Listener,
)

_log = logging.getLogger(f"ottla.{__name__}")

REGISTRATION_RETRY_MS = 500

RAFT_KEYS = (
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.FETCH,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.UPDATE_RAFT_VOTER,
)


class ControllerServer:
    """The APIs of a controller, and its own registration."""

    def __init__(self, shared: SharedServer) -> None:
        """Create the request handler of the controller listener with its APIs, and the broker
        probe. This controller is not registered yet."""
        self._shared = shared
        self._incarnation_id = shared.ports.random_bytes(16)
        self._endpoints: Sequence[EndPoint] = ()
        self._registering = False
        self._last_error: int = ErrorCode.NONE
        self.requests = RequestHandler()
        self.requests.slice_by(shared.answers)
        self.requests.limit_by(MutationQuotas(shared.quotas))
        self._to_controller = shared.to_controller(self.requests.refusal)
        self.probe = BrokerProbe(shared.config, shared.ports, shared.controller)
        self.requests.serve(self._apis())

    def _apis(self) -> list[Api]:
        """Return the APIs of the controller's listeners."""
        shared = self._shared
        refusals = {api.key: api.refuse for api in ForwardedApis(shared.ask_controller_here).apis()}
        refusals[ApiKey.ALTER_CONFIGS] = refuse_alter_configs
        refusals[ApiKey.INCREMENTAL_ALTER_CONFIGS] = refuse_incremental_alter_configs
        refusals[ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS] = refuse_describe_user_scram_credentials
        decided = [
            Api(key, *STABLE_VERSIONS[key], self._handler_of(key), refusals.get(key))
            for key in map(ApiKey, API_KEYS)
        ]
        raft = [
            Api(key, *STABLE_VERSIONS[key], shared.controller.raft_apis.handle) for key in RAFT_KEYS
        ]
        forwarded = [api for api in decided if api.key in FORWARDED_KEYS]
        quorum = [api for api in raft if api.key in QUORUM_KEYS]
        return [
            *decided,
            *raft,
            *EnvelopeApi(
                [*forwarded, *quorum],
                self.requests.admission.rights_of,
                shared.answers,
                shared.quotas.of_controller,
            ).apis(),
            *SaslApi().apis(),
            *ApiVersionsApi(
                shared,
                self.requests.served,
                DEFAULT_FEATURES,
                shared.kraft_version,
            ).apis(),
        ]

    def _handler_of(self, key: ApiKey) -> Any:
        """Return the handler of an API that the controller answers; for heartbeats it also serves
        the broker probe."""
        if key is ApiKey.BROKER_HEARTBEAT:
            return self._heartbeat
        return self._shared.ask_controller_here

    def _heartbeat(self, context: RequestContext, request: Any, respond: Respond) -> None:
        """Note an allowed broker's connection for the probe, and ask the controller."""
        if context.rights.allows_on_cluster(Operation.CLUSTER_ACTION, audited=False):
            self.probe.note_heartbeat(context.connection_id, request)
        self._shared.ask_controller_here(context, request, respond)

    # --- this controller's own registration -------------------------------------------------------

    def start(self, endpoints: Sequence[EndPoint]) -> None:
        """Register with the quorum once it has a leader; `endpoints` are this controller's."""
        self._endpoints = endpoints
        self._shared.controller.add_listener(self._metadata_changed)

    def _metadata_changed(self, _delta: MetadataDelta, _image: MetadataImage) -> None:
        """Register this controller if the new image lacks it."""
        self._register_if_needed()

    def _register_if_needed(self) -> None:
        """Register this controller, unless the image has it or a request is under way."""
        registration = self._shared.image.controllers.get(self._shared.config.node_id)
        if self._registering or (
            registration is not None and registration.incarnation_id == self._incarnation_id
        ):
            return
        self._registering = True
        request = ControllerRegistrationRequest(
            controller_id=self._shared.config.node_id,
            incarnation_id=self._incarnation_id,
            listeners=[
                Listener(
                    endpoint.listener_name,
                    endpoint.host or "",
                    endpoint.port,
                    SECURITY_PROTOCOLS.index(endpoint.security_protocol),
                )
                for endpoint in self._endpoints
            ],
            features=[Feature(name, low, high) for name, (low, high) in DEFAULT_FEATURES.items()],
        )
        self._to_controller.send(request, self._registered)

    def _registered(self, response: ControllerRegistrationResponse | None) -> None:
        """Log a new refusal. Checks again after REGISTRATION_RETRY_MS in any case."""
        error = ErrorCode.NONE if response is None else response.error_code
        if error and error != self._last_error:
            _log.warning(
                "the registration of this controller is refused: %s",
                ErrorCode(error).name,
            )
        self._last_error = error
        # Check later whether the record is in the image, or try again after an error.
        self._shared.ports.scheduler.call_later(REGISTRATION_RETRY_MS, self._check_registration)

    def _check_registration(self) -> None:
        """Register again if the image still lacks this controller."""
        self._registering = False
        self._register_if_needed()
