"""The objects made from the settings of OAUTHBEARER: a listener's judge of tokens, and a client's
source of tokens.

`server_judge` is called once for each listener with the mechanism, before it opens; each login is
an `OAuthBearerServer` with that judge. `client_tokens` is called once for each client of a node,
`token_now` by a command. All of them raise ConfigError for settings that cannot work.

Never checks that a callback class is one of Kafka's: `broker.config` does. Here the class chooses
between signed and unsecured tokens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from broker.config.security.listener_keys import Scope
from broker.config.security.listeners import tls_settings
from broker.config.security.mechanisms import SIGNED_LOGINS, SIGNED_VALIDATORS
from broker.config.security_settings import JaasEntry, MechanismSettings, OAuthSettings, Secret
from broker.security.sasl.oauthbearer.client import TokenKeeper, extension_fault
from broker.security.sasl.oauthbearer.endpoint import (
    ClientCredentials,
    EndpointLimits,
    TlsContext,
    checked_url,
    reader,
    token_from,
)
from broker.security.sasl.oauthbearer.jwks import Jwks, JwksTimes
from broker.security.sasl.oauthbearer.jwt_validator import JwtValidator
from broker.security.sasl.oauthbearer.server import SignedTokens, TokenJudge
from broker.security.sasl.oauthbearer.unsecured_tokens import UnsecuredTokens, unsecured_token
from broker.security.sasl.server_mechanism import SaslRefused
from broker.security.tls.contexts import client_context
from ground.config_def import ConfigError
from ground.ports import Blocking, Scheduler

_log = logging.getLogger(f"ottla.{__name__}")

UNSECURED_ALLOWED = "ottla.sasl.oauthbearer.unsecured.tokens.allowed"
_JAAS = "sasl.jaas.config"
_SERVER_CLASS = "sasl.server.callback.handler.class"
_JWKS_URL = "sasl.oauthbearer.jwks.endpoint.url"
_AUDIENCE, _ISSUER = "sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer"
_ANY_AUDIENCE = "sasl.oauthbearer.allow.unverified.audience"
_ANY_ISSUER = "sasl.oauthbearer.allow.unverified.issuer"
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
_TLS = "ssl."
_EXTENSIONS = ("extension_", "unsecuredLoginExtension_")


class ClientTokens(Protocol):
    """The source of tokens of one client of this node."""

    def start(self, tried: Callable[[], None]) -> None:
        """Fetch tokens from now on. Calls `tried` once after the first try, also if it failed."""

    def close(self) -> None:
        """Stop fetching tokens."""

    def token(self) -> str:
        """Return a token that is valid now. Raises SaslRefused if there is none."""


class MadeTokens:
    """A source of unsecured tokens, which makes a new token for each login."""

    def __init__(self, make: Callable[[int], str], wall_ms: Callable[[], int]) -> None:
        self._make = make
        self._wall_ms = wall_ms

    def start(self, tried: Callable[[], None]) -> None:
        """Call `tried` at once, because there is nothing to fetch."""
        tried()

    def close(self) -> None:
        """Do nothing, because nothing is fetched."""

    def token(self) -> str:
        """Return a new token, issued now."""
        return self._make(self._wall_ms())


def server_judge(prefix: str, settings: MechanismSettings, scheduler: Scheduler) -> TokenJudge:
    """Return the judge of a listener's tokens. For signed tokens it reads the issuer's keys, which
    blocks; for unsecured tokens it logs a warning.

    `prefix` is `listener.name.<listener>.oauthbearer.`. Raises ConfigError, also for unsecured
    tokens that are not allowed.
    """
    callback_class, oauth = settings.server_callback_class, settings.oauth
    key = f"{prefix}{_SERVER_CLASS}"
    if callback_class in SIGNED_VALIDATORS:
        return _signed_tokens(prefix, settings, scheduler)
    if not oauth.unsecured_tokens_allowed:
        raise ConfigError(
            key,
            f"{key} is not set to {SIGNED_VALIDATORS[0]}: anybody could log in by a token that "
            f"nobody signed; if that is wanted, for tests, set {UNSECURED_ALLOWED}=true",
        )
    _log.warning(
        "%s: OAUTHBEARER takes tokens that nobody signed, so anybody may log in as anybody (%s)",
        prefix.rstrip("."),
        UNSECURED_ALLOWED,
    )
    return UnsecuredTokens(f"{prefix}{_JAAS}", _options(settings.jaas))


def _signed_tokens(prefix: str, settings: MechanismSettings, scheduler: Scheduler) -> TokenJudge:
    """Read the issuer's keys, which blocks, and return the judge that checks signatures with them.

    Raises ConfigError if no audience or issuer is expected and that is not allowed, if the URL or
    its TLS settings are wrong, or if the keys cannot be read.
    """
    oauth, key = settings.oauth, f"{prefix}{_JWKS_URL}"
    _check_expected(
        prefix,
        bool(oauth.expected_audience),
        _AUDIENCE,
        _ANY_AUDIENCE,
        oauth.allow_unverified_audience,
    )
    _check_expected(
        prefix, bool(oauth.expected_issuer), _ISSUER, _ANY_ISSUER, oauth.allow_unverified_issuer
    )
    shown = _shown_url(key, oauth.jwks_endpoint_url)
    assert oauth.jwks_endpoint_url is not None
    tls = _tls_context(f"{prefix}{_JAAS}", shown, settings.jaas)
    fetch = reader(oauth.jwks_endpoint_url, _limits(oauth), tls)
    times = JwksTimes(
        oauth.jwks_endpoint_refresh_ms,
        oauth.jwks_endpoint_retry_backoff_ms,
        oauth.jwks_endpoint_retry_backoff_max_ms,
    )
    return SignedTokens(JwtValidator(oauth), Jwks(key, shown, fetch, times, scheduler))


def _check_expected(prefix: str, is_set: bool, key: str, any_key: str, allows_any: bool) -> None:
    """Check that `key` says which tokens are for this node.

    Log a warning if `any_key` allows all tokens instead. Raises ConfigError if neither is set.
    """
    if is_set:
        return
    claim = key.rpartition(".")[2]
    if not allows_any:
        raise ConfigError(
            f"{prefix}{key}",
            f"{prefix}{key} is not set: tokens for any {claim} would be accepted; set it to the "
            f"{claim} of this node's tokens, or set {prefix}{any_key}=true",
        )
    _log.warning(
        "%s: OAUTHBEARER takes tokens whatever their %s is (%s)", prefix.rstrip("."), claim, any_key
    )


def client_tokens(
    prefix: str, settings: MechanismSettings, scheduler: Scheduler, blocking: Blocking
) -> ClientTokens:
    """Return the source of tokens of one client of a node, which fetches none before its `start`.
    Raises ConfigError if the settings cannot work."""
    if _is_unsecured(settings):
        make = partial(unsecured_token, f"{prefix}{_JAAS}", _options(settings.jaas))
        make(scheduler.wall_ms())
        return MadeTokens(make, scheduler.wall_ms)
    shown, retrieve = _retrieval(prefix, settings)
    return TokenKeeper(shown, retrieve, scheduler, blocking)


def token_now(prefix: str, settings: MechanismSettings, now_ms: int) -> str:
    """Return a token for a command; this blocks. Raises ConfigError, or SaslRefused if the issuer
    gives none."""
    if _is_unsecured(settings):
        return unsecured_token(f"{prefix}{_JAAS}", _options(settings.jaas), now_ms)
    shown, retrieve = _retrieval(prefix, settings)
    try:
        return retrieve()
    except OSError as error:
        raise SaslRefused(f"no token of {shown} to log in with: {error}") from None


def client_extensions(prefix: str, settings: MechanismSettings) -> Mapping[str, str]:
    """Return the SASL extensions by name that the JAAS text adds to a client's first message, in
    its options `extension_<name>`. Raises ConfigError if an extension is invalid."""
    extensions: dict[str, str] = {}
    for option, value in _options(settings.jaas).items():
        for start in _EXTENSIONS:
            if option.startswith(start):
                name = option.removeprefix(start)
                if (fault := extension_fault(name, value.value)) is not None:
                    key = f"{prefix}{_JAAS}"
                    raise ConfigError(key, f"{key}: {option}: {fault}")
                extensions[name] = value.value
    return extensions


def _is_unsecured(settings: MechanismSettings) -> bool:
    """Return whether the client makes unsigned tokens itself: the configured callback class is none
    that fetches signed tokens."""
    return settings.login_callback_class not in SIGNED_LOGINS


def _retrieval(prefix: str, settings: MechanismSettings) -> tuple[str, Callable[[], str]]:
    """Return the token endpoint's URL without secrets, and a blocking function that fetches a
    token. The function raises OSError if it gets none. Raises ConfigError."""
    oauth, key = settings.oauth, f"{prefix}{_TOKEN_URL}"
    shown = _shown_url(key, oauth.token_endpoint_url)
    assert oauth.token_endpoint_url is not None
    tls = _tls_context(f"{prefix}{_JAAS}", shown, settings.jaas)
    credentials = None if shown.startswith("file:") else _credentials(prefix, settings)
    return shown, partial(token_from, oauth.token_endpoint_url, _limits(oauth), tls, credentials)


def _credentials(prefix: str, settings: MechanismSettings) -> ClientCredentials:
    """Return the client's id and secret for the issuer. Raises ConfigError if either is not set."""
    oauth, options = settings.oauth, _options(settings.jaas)
    name = oauth.client_credentials_client_id or _text(options, "clientId")
    secret = oauth.client_credentials_client_secret or options.get("clientSecret")
    if not name or secret is None:
        key = f"{prefix}sasl.oauthbearer.client.credentials.client.id"
        raise ConfigError(
            key,
            f"{key}: set it and the client.secret beside it, or clientId and "
            f"clientSecret in {prefix}{_JAAS}",
        )
    return ClientCredentials(name, secret.value, oauth.scope or _text(options, "scope"))


def _shown_url(key: str, url: str | None) -> str:
    """Return the URL for messages, without secrets.

    Raises ConfigError if it is not set or not allowed.
    """
    if url is None:
        raise ConfigError(key, f"{key} is not set, and it says where to read from")
    try:
        return checked_url(url)
    except ValueError as error:
        raise ConfigError(key, f"{key}: {error}") from None


def _limits(oauth: OAuthSettings) -> EndpointLimits:
    return EndpointLimits(
        oauth.login_connect_timeout_ms, oauth.login_read_timeout_ms, oauth.response_max_bytes
    )


def _options(jaas: JaasEntry | None) -> Mapping[str, Secret]:
    """Return the options of a JAAS text by name; none if there is no text."""
    return {} if jaas is None else jaas.options


def _text(options: Mapping[str, Secret], name: str) -> str | None:
    """Return the value of an option; None: it is not set."""
    option = options.get(name)
    return None if option is None else option.value


def _tls_context(key: str, shown: str, jaas: JaasEntry | None) -> TlsContext:
    """Return a function that makes the TLS context of one reading, so that a changed store is used.

    The context has the `ssl.` options of the JAAS text; without any, it trusts the system's
    authorities. For an `https:` URL one context is made now, as a check. Raises ConfigError.
    """
    texts = {name: value.value for name, value in _options(jaas).items() if name.startswith(_TLS)}
    make = partial(client_context, f"{key}: ", tls_settings(Scope(texts)))
    if shown.startswith("https:"):
        make()
    return make
