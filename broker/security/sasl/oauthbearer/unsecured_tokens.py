"""Unsigned tokens, for development: their validation, and the creation of a client's tokens.

With them any client of the listener can log in under any name. So a node refuses to start with them
unless `ottla.sasl.oauthbearer.unsecured.tokens.allowed` is true, and then logs a warning. Options
come from the JAAS text, under Kafka's names. Never reads a clock.

Follows KIP-255; Apache Kafka accepts a few claims of the wrong type that are rejected here.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping

from broker.config.security_settings import Secret
from broker.security.sasl.oauthbearer.jwt_compact import (
    AcceptedToken,
    Json,
    TokenRefused,
    date_ms,
    json_object,
    principal_name,
    take_apart,
)
from ground.config_def import ConfigError
from ground.ports import Blocking

Options = Mapping[str, Secret]

_VALIDATOR = "unsecuredValidator"
_LOGIN = "unsecuredLogin"
_LIFETIME_S = 3600
_NUMBER_MAX = 2**53
_DIGITS_MAX = 15


class UnsecuredTokens:
    """The judge of tokens whose algorithm is `none`."""

    def __init__(self, key: str, options: Options) -> None:
        """Read the options; `key` is the configuration key of the JAAS text, for errors. Raises
        ConfigError."""
        self._name_claim = _option(options, f"{_VALIDATOR}PrincipalClaimName", "sub")
        self._scope_claim = _option(options, f"{_VALIDATOR}ScopeClaimName", "scope")
        self._required = tuple(_option(options, f"{_VALIDATOR}RequiredScope", "").split())
        self._skew_ms = _whole_number(key, options, f"{_VALIDATOR}AllowableClockSkewMs", 0)

    def judge(self, token: str, now_ms: int) -> AcceptedToken:
        """Return the token's principal name and expiry. Raises TokenRefused if it has an algorithm
        or a signature, has expired, lacks the required scope, or is malformed."""
        parts = take_apart(token)
        if parts.header.get("alg") != "none":
            raise TokenRefused("the algorithm is not none")
        if parts.signature:
            raise TokenRefused("a token without an algorithm has a signature")
        claims = json_object(parts.claims, "payload")
        name = principal_name(claims, self._name_claim)
        scope = self._scope(claims)
        expires_at_ms = date_ms(claims, "exp")
        if now_ms - self._skew_ms >= expires_at_ms:
            raise TokenRefused(f"the token expired {(now_ms - expires_at_ms) // 1000} s ago")
        if "iat" in claims:
            issued_at_ms = date_ms(claims, "iat")
            if issued_at_ms > now_ms + self._skew_ms:
                raise TokenRefused("claim iat is in the future")
            if issued_at_ms > expires_at_ms:
                raise TokenRefused("the token expires before it was issued")
        if not all(required in scope for required in self._required):
            raise TokenRefused("the token has not the required scope", self._required)
        return AcceptedToken(name, expires_at_ms)

    def start(self, blocking: Blocking) -> None:
        """Do nothing, because there are no keys to refresh."""

    def close(self) -> None:
        """Do nothing, because there are no keys to refresh."""

    def _scope(self, claims: Json) -> list[str]:
        """Return the token's scope.

        A text is one entry, even with blanks in it, as in Kafka. Raises TokenRefused if it is
        neither a text nor a list of texts.
        """
        scope = claims.get(self._scope_claim, [])
        scope = [scope.strip()] if isinstance(scope, str) else scope
        if not isinstance(scope, list) or not all(isinstance(entry, str) for entry in scope):
            raise TokenRefused(f"claim {self._scope_claim} is neither a text nor a list of texts")
        return scope


def unsecured_token(key: str, options: Options, now_ms: int) -> str:
    """Return an unsigned token with the claims that the JAAS text has. Its `iat` is `now_ms`, and
    its `exp` the configured lifetime later, unless the text has others.

    Raises ConfigError for `key`, the configuration key of that text, if an option is wrong or the
    principal's name is missing.
    """
    claims: dict[str, object] = {}
    for name, option in options.items():
        for kind, read in _CLAIMS.items():
            if name.startswith(f"{_LOGIN}{kind}Claim_"):
                claims[name.partition("_")[2]] = read(key, name, option.value)
    name_claim = _option(options, f"{_LOGIN}PrincipalClaimName", "sub")
    if not isinstance(claims.get(name_claim), str):
        raise ConfigError(
            key, f"{key}: set {_LOGIN}StringClaim_{name_claim}, the name to log in as"
        )
    now_s = now_ms // 1000
    lifetime_s = _whole_number(key, options, f"{_LOGIN}LifetimeSeconds", _LIFETIME_S)
    claims = {"iat": now_s, "exp": now_s + lifetime_s, **claims}
    return f"{_encoded_part({'alg': 'none'})}.{_encoded_part(claims)}."


def _text(key: str, name: str, value: str) -> object:
    """Return the text of an option as it is, as the value of a claim."""
    return value


def _number(key: str, name: str, value: str) -> object:
    """Return a claim's number.

    Raises ConfigError if it is not finite or larger than _NUMBER_MAX.
    """
    try:
        number = float(value)
        if abs(number) <= _NUMBER_MAX:
            return int(number) if number.is_integer() else number
    except ValueError:
        pass
    raise ConfigError(key, f"{key}: {name} is not a number")


def _list(key: str, name: str, value: str) -> object:
    """Return the entries of a list such as `,a,b`, whose first character is the separator. Return
    none for a list without entries."""
    return value[1:].split(value[0]) if value[1:] else []


_CLAIMS = {"String": _text, "Number": _number, "List": _list}


def _option(options: Options, name: str, default: str) -> str:
    """Return an option's value, or the default if it is missing or blank."""
    option = options.get(name)
    return (option.value.strip() if option is not None else "") or default


def _whole_number(key: str, options: Options, name: str, default: int) -> int:
    """Return an option's number, or the default if it is missing or blank. Raises ConfigError if it
    is not a whole number from 0."""
    text = _option(options, name, str(default))
    if not (text.isascii() and text.isdecimal()) or len(text) > _DIGITS_MAX:
        raise ConfigError(key, f"{key}: {name} is not a whole number")
    return int(text)


def _encoded_part(values: Mapping[str, object]) -> str:
    """Return the JSON of these values in base64url, as a part of a token."""
    data = json.dumps(values, separators=(",", ":")).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()
