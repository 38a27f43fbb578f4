"""The guards of a node's secured listeners, created at the start and changed while it serves.

Owns a `ListenerGuard` for each listener, the plug-ins that name its clients or judge its logins,
the judge of its tokens, and the counts of logins. Never touches a socket or a connection. A
listener without security has no guard, unless a plug-in names its clients, and a node without
guards loads none of these modules.

Dynamic configs of this node (KIP-226) give a listener other stores, or a mechanism another JAAS
text, for later connections and logins. The judge of OAUTHBEARER and the plug-ins stay the same.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from broker.config.listener_security import ListenerSecurity
from broker.config.plugins import PythonClass
from broker.config.values import BrokerConfig
from broker.node.settings import token_key
from broker.security.listener_guard import ListenerGuard, LoginInterceptor, Refuse, RunBlocking
from broker.security.logins import Logins
from controller.metadata.delegation_token import Tokens
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from controller.metadata.scram_credential import (
    SCRAM_MECHANISMS,
    ScramCredential,
    ScramMechanism,
)
from ground.config_def import ConfigError
from ground.ports import Blocking, Scheduler
from protocol.errors import ApiError, ErrorCode, ProtocolError
from protocol.message import Message

if TYPE_CHECKING:
    from broker.config.tls_and_sasl import SaslSettings
    from broker.plugins.node_plugins import NodePlugins
    from broker.security.sasl.oauthbearer.server import TokenJudge
    from broker.security.sasl.server_mechanism import NewServerMechanism, ServerMechanism
    from broker.security.sasl.token_credentials import TokenCredentials

NONCE_BYTES = 24
OAUTHBEARER = "OAUTHBEARER"

CredentialOf = Callable[[ScramMechanism, str], ScramCredential | None]
"""A lookup of a user's SCRAM credential in the metadata that this node has replayed."""

_log = logging.getLogger(f"ottla.{__name__}")


class Guards:
    """The guards of the secured listeners of a node."""

    def __init__(
        self,
        config: BrokerConfig,
        credential_of: CredentialOf,
        random_bytes: Callable[[int], bytes],
        clock_s: Callable[[], float],
        scheduler: Scheduler,
        delegation_tokens: Callable[[], Tokens] = dict,
        plugins: NodePlugins | None = None,
    ) -> None:
        """Create no guards yet.

        `delegation_tokens()` returns the current delegation tokens.
        """
        self._config = config
        self._credential_of = credential_of
        self._random_bytes = random_bytes
        self._clock_s = clock_s
        self._scheduler = scheduler
        self._plugins = plugins
        self._guards: dict[str, ListenerGuard] = {}
        self._judges: dict[str, TokenJudge] = {}
        self._delegation_tokens = self._token_credentials(delegation_tokens)
        # By listener and mechanism: the functions that start logins which a user's class judges.
        self._own_logins: dict[tuple[str, str], Callable[[], ServerMechanism]] = {}

    def guard(self, listener_name: str, refuse: Refuse) -> ListenerGuard | None:
        """Create and return the guard of a listener; None if the listener has no security.

        `refuse` returns an API's response with an error, and raises KeyError if the listener does
        not serve the API. Raises ConfigError.
        """
        security = self._config.listener_security[listener_name]
        plugins, build_principal = self._plugins, None
        if plugins is not None:
            build_principal = plugins.principals(security)
        if security.tls is None and security.sasl is None and build_principal is None:
            return None
        logged = self._config.ottla_authentication_failures_logged_per_second
        self._make_judge(security)
        self._load_own_logins(security)
        guard = ListenerGuard(
            security,
            Logins(listener_name, logged, self._clock_s),
            self._mechanisms(security),
            _refuse_served(refuse),
            key_prefix=self._key_prefix(listener_name),
            between_nodes=self._is_between_nodes(listener_name),
            build_principal=build_principal,
            run_blocking=self._run_blocking(),
        )
        self._guards[listener_name] = guard
        return guard

    def intercept_logins_by(self, intercept: LoginInterceptor) -> None:
        """Let `intercept` answer the frames of logins instead of the authenticators, at all guarded
        listeners."""
        for guard in self._guards.values():
            guard.intercept_logins_by(intercept)

    def logins(self) -> list[Logins]:
        """Return the login counts of each guarded listener."""
        return [guard.logins for guard in self._guards.values()]

    def start(self, blocking: Blocking) -> None:
        """Start the jobs on `blocking` that keep the keys and credentials of tokens fresh."""
        for judge in self._judges.values():
            judge.start(blocking)
        if self._delegation_tokens is not None:
            self._delegation_tokens.start(blocking)

    def close(self) -> None:
        """Stop the jobs that keep the keys and credentials of tokens fresh."""
        for judge in self._judges.values():
            judge.close()
        if self._delegation_tokens is not None:
            self._delegation_tokens.close()

    # --- changes --------------------------------------------------------------------------------

    def validate(self, new: BrokerConfig, listeners: Collection[str]) -> ApiError | None:
        """Return an INVALID_REQUEST error if changed security cannot be applied, or None. Changes
        nothing, and may run in a thread.

        See `broker.config.dynamic.SecurityValidator`.
        """
        try:
            for name in listeners:
                if name in self._guards:
                    self._guards[name].check(new.listener_security[name])
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_REQUEST, str(error))
        return None

    def metadata_changed(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Apply changed security settings of listeners, and changed delegation tokens. A listener
        whose new settings cannot be loaded keeps the old ones, and an error is logged."""
        if self._delegation_tokens is not None and delta.changed_tokens:
            self._delegation_tokens.changed(delta.changed_tokens)
        from broker.config.security.changes import security_changes

        for security in security_changes(self._config, delta, image):
            guard = self._guards.get(security.listener_name)
            if guard is None:
                continue
            try:
                guard.replace(security, self._mechanisms(security))
            except ConfigError as error:
                _log.error(
                    "listener %s stays as it was secured before: %s", security.listener_name, error
                )
            else:
                _log.warning("listener %s is secured anew", security.listener_name)

    # --- parts of guards ------------------------------------------------------------------------

    def _make_judge(self, security: ListenerSecurity) -> None:
        """Create the listener's judge of OAuth tokens, if built-in checks judge them.

        Raises ConfigError for wrong settings.
        """
        name = security.listener_name
        for mechanism in () if security.sasl is None else security.sasl.mechanisms:
            if mechanism.name == OAUTHBEARER and not isinstance(
                mechanism.server_callback_class, PythonClass
            ):
                from broker.security.sasl.oauthbearer.parts import server_judge

                prefix = f"listener.name.{name.lower()}.oauthbearer."
                self._judges[name] = server_judge(prefix, mechanism, self._scheduler)

    def _load_own_logins(self, security: ListenerSecurity) -> None:
        """Load the Python classes that check the listener's logins.

        Raises ConfigError if a class fails.
        """
        if self._plugins is None or security.sasl is None:
            return
        for mechanism in security.sasl.mechanisms:
            built_in = partial(self._built_in, replace(security.sasl, mechanisms=(mechanism,)))
            own = self._plugins.logins(security.listener_name, mechanism, self._nonce, built_in)
            if own is not None:
                self._own_logins[security.listener_name, mechanism.name] = own

    def _built_in(self, sasl: SaslSettings) -> ServerMechanism:
        """Start a login by the only mechanism of `sasl`."""
        return self._new_mechanism(sasl, {})(sasl.mechanisms[0].name)

    def _mechanisms(self, security: ListenerSecurity) -> NewServerMechanism | None:
        """Return the maker of the listener's server mechanisms, or None without SASL."""
        if security.sasl is None:
            return None
        others = {
            mechanism: begin
            for (listener, mechanism), begin in self._own_logins.items()
            if listener == security.listener_name
        }
        judge = self._judges.get(security.listener_name)
        if judge is not None:
            from broker.security.sasl.oauthbearer.server import OAuthBearerServer

            others[OAUTHBEARER] = partial(OAuthBearerServer, judge)
        return self._new_mechanism(security.sasl, others)

    def _new_mechanism(
        self, sasl: SaslSettings, others: dict[str, Callable[[], ServerMechanism]]
    ) -> NewServerMechanism:
        """Return the maker of the mechanisms of `sasl`; those of `others` replace the built-in
        ones."""
        from broker.security.sasl.mechanism_factory import server_mechanisms
        from broker.security.sasl.scram import no_tokens

        tokens = self._delegation_tokens
        return server_mechanisms(
            sasl,
            self._credential_of,
            self._nonce,
            others,
            no_tokens if tokens is None else tokens.login,
        )

    def _run_blocking(self) -> RunBlocking | None:
        """Return the runner of logins' blocking calls; None without plug-ins and tokens."""
        if self._plugins is not None:
            return self._plugins.run_blocking
        return None if self._delegation_tokens is None else self._delegation_tokens.run_blocking

    def _token_credentials(self, tokens: Callable[[], Tokens]) -> TokenCredentials | None:
        """Return the credentials of delegation tokens; None if no login can use such a token."""
        key = token_key(self._config)
        settings = [security.sasl for security in self._config.listener_security.values()]
        names = {
            mechanism.name for sasl in settings if sasl is not None for mechanism in sasl.mechanisms
        }
        mechanisms = [scram for name, scram in SCRAM_MECHANISMS.items() if name in names]
        if key is None or not mechanisms:
            return None
        from broker.security.sasl.token_credentials import TokenCredentials

        return TokenCredentials(key, tokens, mechanisms, self._random_bytes)

    def _nonce(self) -> str:
        """Return NONCE_BYTES random bytes in base64."""
        return base64.b64encode(self._random_bytes(NONCE_BYTES)).decode()

    def _key_prefix(self, listener_name: str) -> str:
        """Return the prefix of the keys of a listener's stores; empty if it has no own keys."""
        prefix = f"listener.name.{listener_name.lower()}."
        own = any(name.startswith(f"{prefix}ssl.") for name in self._config.originals)
        return prefix if own else ""

    def _is_between_nodes(self, name: str) -> bool:
        """Return True if nodes connect to each other on this listener."""
        config = self._config
        return name == config.inter_broker_listener_name or name in config.controller_listener_names


def _refuse_served(refuse: Refuse) -> Refuse:
    """Return `refuse`, with a ProtocolError instead of a KeyError for an API that is not served."""

    def refused(api_key: int, request: Message, error: ErrorCode) -> Message | None:
        """Return the API's response with the error. Raises ProtocolError if the API is
        not served."""
        try:
            return refuse(api_key, request, error)
        except KeyError:
            raise ProtocolError(f"API key {api_key} is not served") from None

    return refused
