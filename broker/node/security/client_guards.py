"""The security of this node's connections to the listeners of other nodes.

Created once at the start, so that an unreadable store ends the start. Owns the tokens by which a
node logs in with OAUTHBEARER. Never touches a socket. Without security it loads no further modules.

Dynamic configs of this node (KIP-226) change this client half of a listener with the server half
(`broker.node.security.guards`). Later connections use the new stores, and later logins the new JAAS
text. Open connections stay, even if the peer's certificate is no longer trusted.
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
class _Peers:
    """The other nodes behind a listener. A new login uses the current value of `login`."""

    listener_name: str
    security_of: Callable[[BrokerConfig], ClientSecurity]
    login: NewLogin | None
    tokens: ClientTokens | None
    """The tokens of its logins, None for other mechanisms."""
    guard: ClientGuard = field(init=False)
    next_tokens: ClientTokens | None = None
    """The tokens that replace `tokens` after the first attempt to fetch one."""

    def begin(self, client_id: str) -> ClientLogin:
        """Start a login with the current settings, and return it."""
        assert self.login is not None
        return self.login(client_id)

    def close(self) -> None:
        """Stop fetching tokens."""
        for tokens in (self.tokens, self.next_tokens):
            if tokens is not None:
                tokens.close()


class ClientGuards:
    """The client guards of a node."""

    def __init__(
        self,
        config: BrokerConfig,
        random_bytes: RandomBytes,
        scheduler: Scheduler,
        blocking: Blocking,
    ) -> None:
        """Create the guards; `blocking` runs the jobs that fetch tokens. Raises ConfigError."""
        self._config = config
        self._random_bytes = random_bytes
        self._scheduler = scheduler
        self._blocking = blocking
        self._peers = [
            self._peers_of(
                config.inter_broker_listener_name, lambda config: config.inter_broker_security
            )
        ]
        if config.controller_security.security_protocol != "PLAINTEXT" or self.is_secured:
            name = next(iter(config.controller_listener_names))
            self._peers.append(self._peers_of(name, lambda config: config.controller_security))

    @property
    def to_brokers(self) -> ClientGuard:
        """The guard of connections to `inter.broker.listener.name`."""
        return self._peers[0].guard

    @property
    def to_controllers(self) -> ClientGuard:
        """The guard of connections to the first of `controller.listener.names`.

        It is the same object as `to_brokers` only if neither is secured.
        """
        return self._peers[-1].guard

    @property
    def is_secured(self) -> bool:
        """Whether any of the connections is secured, so that its security may change."""
        return any(peers.guard.is_secured for peers in self._peers)

    def start(self, done: Callable[[], None]) -> None:
        """Start to fetch tokens; call `done` after the first attempts have succeeded or failed."""
        untried = [peers.tokens for peers in self._peers if peers.tokens is not None]

        def tried(tokens: ClientTokens) -> None:
            """Call `done` if these were the last tokens without an attempt."""
            untried.remove(tokens)
            if not untried:
                done()

        for tokens in list(untried):
            tokens.start(partial(tried, tokens))
        if not any(peers.tokens for peers in self._peers):
            done()

    def close(self) -> None:
        """Stop fetching tokens."""
        for peers in self._peers:
            peers.close()

    # --- changes --------------------------------------------------------------------------------

    def validate(self, new: BrokerConfig, listeners: Collection[str]) -> ApiError | None:
        """Return an INVALID_REQUEST error if changed security cannot be applied, or None. Changes
        nothing, and may run in a thread.

        See `broker.config.dynamic.SecurityValidator`.
        """
        try:
            for peers in self._peers:
                if peers.listener_name in listeners:
                    security = peers.security_of(new)
                    self._login(security, peers.listener_name)
                    peers.guard.check(security)
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_REQUEST, str(error))
        return None

    def metadata_changed(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Apply changed security settings to this node's later connections, and log that. With
        settings that cannot be loaded, log an error and keep the old ones."""
        from broker.config.security.changes import replayed_listeners

        listeners = replayed_listeners(self._config, delta)
        if not listeners:
            return
        config = secured_config(self._config, image)
        for peers in self._peers:
            if peers.listener_name not in listeners:
                continue
            try:
                self._replace_security(peers, peers.security_of(config))
            except ConfigError as error:
                _log.error(
                    "this node connects to listener %s of others as before: %s",
                    peers.listener_name, error,
                )  # fmt: skip
            else:
                _log.warning(
                    "this node connects to listener %s of others anew", peers.listener_name
                )

    def _replace_security(self, peers: _Peers, security: ClientSecurity) -> None:
        """Use a listener's new security for later connections.

        A new token login takes over after its first try for a token.
        """
        before = peers.guard.security.mechanism
        login, tokens = self._login(security, peers.listener_name)
        peers.guard.replace(security)
        if security.mechanism == before:
            return
        if tokens is None:
            peers.login = login
            return
        if peers.next_tokens is not None:
            peers.next_tokens.close()
        peers.next_tokens = tokens
        tokens.start(partial(self._use_next_tokens, peers, login, tokens))

    def _use_next_tokens(self, peers: _Peers, login: NewLogin | None, tokens: ClientTokens) -> None:
        """Log in with the new tokens from now on, because the first attempt to fetch one has ended.
        Stop fetching the old tokens."""
        old, peers.login, peers.tokens, peers.next_tokens = peers.tokens, login, tokens, None
        if old is not None:
            old.close()

    # --- parts of guards ------------------------------------------------------------------------

    def _peers_of(self, name: str, security_of: Callable[[BrokerConfig], ClientSecurity]) -> _Peers:
        """Return the guard and login for connections to the other nodes on a listener."""
        security = security_of(self._config)
        login, tokens = self._login(security, name)
        peers = _Peers(name, security_of, login, tokens)
        begin = None if login is None else peers.begin
        peers.guard = ClientGuard(security, prefix_of(name), begin)
        return peers

    def _login(
        self, security: ClientSecurity, name: str
    ) -> tuple[NewLogin | None, ClientTokens | None]:
        """Return the function that starts logins, and the tokens for them, not yet started.

        Without SASL both are None; only OAUTHBEARER has tokens. Raises ConfigError.
        """
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
    """Return a guard for a blocking client: a command, or a node before its start.

    The guard waits for a token, too. Raises ConfigError.
    """

    def token() -> str:
        """Fetch a token, and block until it is there."""
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
    """Return the maker of logins, or None for a protocol without SASL."""
    if security.mechanism is None:
        return None
    from broker.security.client_logins import ClientLogins

    return ClientLogins(security.mechanism, prefix, random_bytes, token).login


def logs_in_by_token(security: ClientSecurity) -> bool:
    """Return whether the mechanism is OAUTHBEARER."""
    return security.mechanism is not None and security.mechanism.name == "OAUTHBEARER"


def prefix_of(listener_name: str) -> str:
    """Return the prefix of the keys of a listener."""
    return f"listener.name.{listener_name.lower()}."


def controller_prefix(config: BrokerConfig) -> str:
    """Return the prefix of the keys for connections to controllers."""
    return prefix_of(next(iter(config.controller_listener_names)))
