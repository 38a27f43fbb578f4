"""How this node gets into the listeners of other nodes: brokers' and controllers'.

Made once at the start, so that a store that cannot be read ends the start. Owns the tokens by which
a node logs in with OAUTHBEARER. Never: a socket. Without security nothing is loaded.

Dynamic configs of this node (KIP-226) change this half of a listener with the server half
(`broker.node.security.guards`): connections that are made then use the new stores, and logins the
new JAAS text. Open connections stay, also where somebody else's certificate is no longer trusted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from broker.config.in_force import secured_config
from broker.config.listener_security import ClientSecurity
from broker.config.values import BrokerConfig
from broker.security.client_guard import ClientGuard, ClientLogin, NewLogin
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from ground.config_def import ConfigError
from ground.ports import Blocking, Scheduler
from protocol.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from broker.security.sasl.oauthbearer.parts import ClientTokens

RandomBytes = Callable[[int], bytes]

_log = logging.getLogger(f"ottla.{__name__}")


@dataclass(slots=True)
class _Way:
    """To one listener of others. Each new login is by what `login` is then."""

    listener_name: str
    security_of: Callable[[BrokerConfig], ClientSecurity]
    login: NewLogin | None
    tokens: ClientTokens | None
    """Where it logs in by token."""
    guard: ClientGuard = field(init=False)
    coming: ClientTokens | None = None
    """What takes the place of `tokens` as soon as it has one."""

    def begin(self, client_id: str) -> ClientLogin:
        """See `NewLogin`."""
        assert self.login is not None
        return self.login(client_id)

    def close(self) -> None:
        for tokens in (self.tokens, self.coming):
            if tokens is not None:
                tokens.close()


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
        self._config = config
        self._random_bytes = random_bytes
        self._scheduler = scheduler
        self._blocking = blocking
        self._ways = [
            self._way(config.inter_broker_listener_name, lambda one: one.inter_broker_security)
        ]
        if config.controller_security.security_protocol != "PLAINTEXT" or self.is_secured:
            name = next(iter(config.controller_listener_names))
            self._ways.append(self._way(name, lambda one: one.controller_security))

    @property
    def to_brokers(self) -> ClientGuard:
        """By `inter.broker.listener.name`."""
        return self._ways[0].guard

    @property
    def to_controllers(self) -> ClientGuard:
        """By the first of `controller.listener.names`. The same only where neither is secured."""
        return self._ways[-1].guard

    @property
    def is_secured(self) -> bool:
        """Whether there is anything that may change."""
        return any(way.guard.is_secured for way in self._ways)

    def start(self, done: Callable[[], None]) -> None:
        """Begin to get tokens; then `done`, when the first ones have come or could not be had."""
        left = [way.tokens for way in self._ways if way.tokens is not None]

        def tried(tokens: ClientTokens) -> None:
            left.remove(tokens)
            if not left:
                done()

        for tokens in list(left):
            tokens.start(partial(tried, tokens))
        if not any(way.tokens for way in self._ways):
            done()

    def close(self) -> None:
        """Get no more."""
        for way in self._ways:
            way.close()

    # --- changes --------------------------------------------------------------------------------

    def validate(self, new: BrokerConfig, listeners: Collection[str]) -> ApiError | None:
        """See `broker.config.dynamic.SecurityValidator`. It may run in a thread."""
        try:
            for way in self._ways:
                if way.listener_name in listeners:
                    security = way.security_of(new)
                    self._login(security, way.listener_name)
                    way.guard.check(security)
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_REQUEST, str(error))
        return None

    def metadata_changed(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Metadata was replayed: this node may connect otherwise from now on."""
        from broker.config.security.changes import replayed_listeners

        listeners = replayed_listeners(self._config, delta)
        if not listeners:
            return
        config = secured_config(self._config, image)
        for way in self._ways:
            if way.listener_name not in listeners:
                continue
            try:
                self._replace(way, way.security_of(config))
            except ConfigError as error:
                _log.error(
                    "this node connects to listener %s of others as before: %s",
                    way.listener_name, error,
                )  # fmt: skip
            else:
                _log.warning("this node connects to listener %s of others anew", way.listener_name)

    def _replace(self, way: _Way, security: ClientSecurity) -> None:
        before = way.guard.security.mechanism
        login, tokens = self._login(security, way.listener_name)
        way.guard.replace(security)
        if security.mechanism == before:
            return
        if tokens is None:
            way.login = login
            return
        if way.coming is not None:
            way.coming.close()
        way.coming = tokens
        tokens.start(partial(self._come, way, login, tokens))

    def _come(self, way: _Way, login: NewLogin | None, tokens: ClientTokens) -> None:
        """There is a token to log in with; until now there was the old one."""
        old, way.login, way.tokens, way.coming = way.tokens, login, tokens, None
        if old is not None:
            old.close()

    # --- what guards are made of ----------------------------------------------------------------

    def _way(self, name: str, security_of: Callable[[BrokerConfig], ClientSecurity]) -> _Way:
        security = security_of(self._config)
        login, tokens = self._login(security, name)
        way = _Way(name, security_of, login, tokens)
        begin = None if login is None else way.begin
        way.guard = ClientGuard(security, prefix_of(name), begin)
        return way

    def _login(
        self, security: ClientSecurity, name: str
    ) -> tuple[NewLogin | None, ClientTokens | None]:
        """What begins a login, and what has its tokens, which is not started."""
        prefix = prefix_of(name)
        if not logs_in_by_token(security):
            return _new_login(security, prefix, self._random_bytes, None), None
        from broker.security.sasl.oauthbearer.parts import client_tokens

        assert security.mechanism is not None
        tokens = client_tokens(prefix, security.mechanism, self._scheduler, self._blocking)
        return _new_login(security, prefix, self._random_bytes, tokens.token), tokens


def asking_guard(
    security: ClientSecurity, prefix: str, random_bytes: RandomBytes, wall_ms: Callable[[], int]
) -> ClientGuard:
    """For who asks and waits, a command or a node before it starts: it waits for a token, too.
    Raises ConfigError."""

    def token() -> str:
        from broker.security.sasl.oauthbearer.parts import token_now

        assert security.mechanism is not None
        return token_now(prefix, security.mechanism, wall_ms())

    login = _new_login(security, prefix, random_bytes, token)
    return ClientGuard(security, prefix, login)


def _new_login(
    security: ClientSecurity,
    prefix: str,
    random_bytes: RandomBytes,
    token: Callable[[], str] | None,
) -> NewLogin | None:
    if security.mechanism is None:
        return None
    from broker.security.client_logins import ClientLogins

    return ClientLogins(security.mechanism, prefix, random_bytes, token).login


def logs_in_by_token(security: ClientSecurity) -> bool:
    """Whether it is OAUTHBEARER."""
    return security.mechanism is not None and security.mechanism.name == "OAUTHBEARER"


def prefix_of(listener_name: str) -> str:
    """Of the keys of a listener."""
    return f"listener.name.{listener_name.lower()}."


def controller_prefix(config: BrokerConfig) -> str:
    """Of the keys by which a node reaches controllers."""
    return prefix_of(next(iter(config.controller_listener_names)))
