"""How this node gets into the listeners of other nodes: brokers' and controllers'.

Made once at the start, so that a store that cannot be read ends the start. Owns the tokens by which
a node logs in with OAUTHBEARER. Never: a socket. Without security nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.config.listener_security import ClientSecurity
from broker.config.values import BrokerConfig
from broker.security.client_guard import ClientGuard
from storage.ports import Blocking, Scheduler

if TYPE_CHECKING:
    from broker.security.sasl.oauthbearer.parts import ClientTokens

RandomBytes = Callable[[int], bytes]


class ClientGuards:
    """Of a node."""

    def __init__(
        self,
        config: BrokerConfig,
        random_bytes: RandomBytes,
        scheduler: Scheduler,
        blocking: Blocking,
    ) -> None:
        """`blocking` fetches tokens. Raises ConfigError."""
        self._random_bytes = random_bytes
        self._scheduler = scheduler
        self._blocking = blocking
        self._tokens: list[ClientTokens] = []
        name = config.inter_broker_listener_name
        self.to_brokers = self._guard(config.inter_broker_security, prefix_of(name))
        """By `inter.broker.listener.name`."""
        self.to_controllers = (
            self.to_brokers
            if config.controller_security == config.inter_broker_security
            else self._guard(config.controller_security, controller_prefix(config))
        )
        """By the first of `controller.listener.names`."""

    def start(self) -> None:
        """Begin to get tokens."""
        for one in self._tokens:
            one.start()

    def close(self) -> None:
        """Get no more."""
        for one in self._tokens:
            one.close()

    def _guard(self, security: ClientSecurity, prefix: str) -> ClientGuard:
        token = None
        if logs_in_by_token(security):
            from broker.security.sasl.oauthbearer.parts import client_tokens

            assert security.mechanism is not None
            kept = client_tokens(prefix, security.mechanism, self._scheduler, self._blocking)
            self._tokens.append(kept)
            token = kept.token
        return _guard(security, prefix, self._random_bytes, token)


def asking_guard(
    security: ClientSecurity, prefix: str, random_bytes: RandomBytes, wall_ms: Callable[[], int]
) -> ClientGuard:
    """For who asks and waits, a command or a node before it starts: it waits for a token, too.
    Raises ConfigError."""

    def token() -> str:
        from broker.security.sasl.oauthbearer.parts import token_now

        assert security.mechanism is not None
        return token_now(prefix, security.mechanism, wall_ms())

    return _guard(security, prefix, random_bytes, token)


def _guard(
    security: ClientSecurity,
    prefix: str,
    random_bytes: RandomBytes,
    token: Callable[[], str] | None,
) -> ClientGuard:
    if security.mechanism is None:
        return ClientGuard(security, prefix)
    from broker.security.client_logins import ClientLogins

    logins = ClientLogins(security.mechanism, prefix, random_bytes, token)
    return ClientGuard(security, prefix, logins.login)


def logs_in_by_token(security: ClientSecurity) -> bool:
    """Whether it is OAUTHBEARER."""
    return security.mechanism is not None and security.mechanism.name == "OAUTHBEARER"


def prefix_of(listener_name: str) -> str:
    """Of the keys of a listener."""
    return f"listener.name.{listener_name.lower()}."


def controller_prefix(config: BrokerConfig) -> str:
    """Of the keys by which a node reaches controllers."""
    return prefix_of(next(iter(config.controller_listener_names)))
