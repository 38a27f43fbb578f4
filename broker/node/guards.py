"""The guards of a node's secured listeners, made at its start.

Owns one `ListenerGuard` a listener, and what is counted about logins. Never: a socket, or a
connection. A listener without security has no guard, and a node with none loads none of this.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.config.security_settings import ListenerSecurity, SaslSettings
from broker.config.values import BrokerConfig
from broker.security.listener_guard import ListenerGuard, Refuse
from broker.security.logins import Logins
from controller.metadata.scram_credential import ScramCredential, ScramMechanism

if TYPE_CHECKING:
    from broker.security.sasl.server_mechanism import NewServerMechanism

NONCE_BYTES = 24

CredentialOf = Callable[[ScramMechanism, str], ScramCredential | None]
"""Of a user, as the metadata that this node has replayed knows it."""


class Guards:
    """See the module."""

    def __init__(
        self,
        config: BrokerConfig,
        credential_of: CredentialOf,
        random_bytes: Callable[[int], bytes],
        clock_s: Callable[[], float],
    ) -> None:
        self._config = config
        self._credential_of = credential_of
        self._random_bytes = random_bytes
        self._clock_s = clock_s
        self._guards: dict[str, ListenerGuard] = {}

    def guard(self, listener_name: str, refuse: Refuse) -> ListenerGuard | None:
        """The guard of a listener, which is to be loaded; None where it has no security. Raises
        ConfigError."""
        security = self._config.listener_security[listener_name]
        if security.tls is None and security.sasl is None:
            return None
        logged = self._config.ottla_authentication_failures_logged_per_second
        guard = ListenerGuard(
            security,
            Logins(listener_name, logged, self._clock_s),
            None if security.sasl is None else self._mechanisms(security.sasl),
            refuse,
            between_nodes=self._is_between_nodes(security),
        )
        self._guards[listener_name] = guard
        return guard

    def logins(self) -> list[Logins]:
        """What is counted, of each guarded listener."""
        return [guard.logins for guard in self._guards.values()]

    def _mechanisms(self, sasl: SaslSettings) -> NewServerMechanism:
        from broker.security.sasl.mechanism_factory import server_mechanisms

        return server_mechanisms(sasl, self._credential_of, self._nonce)

    def _nonce(self) -> str:
        return base64.b64encode(self._random_bytes(NONCE_BYTES)).decode()

    def _is_between_nodes(self, security: ListenerSecurity) -> bool:
        name = security.listener_name
        config = self._config
        return name == config.inter_broker_listener_name or name in config.controller_listener_names
