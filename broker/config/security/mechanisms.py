"""The settings of a SASL mechanism, as the server half offers it or the client half logs in by it.

Owns the mechanisms, login modules and callback classes, by Kafka's names. It checks no password and
no token (`broker.security.sasl`).

Follows Kafka's `SaslConfigs`, `BrokerSecurityConfigs` and `JaasContext`: the JAAS text of a
server is read only under the listener and the mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.plugins import PythonClass, class_of
from broker.config.security.jaas import JaasError, parse_jaas
from broker.config.security.listener_keys import Scope
from broker.config.security_settings import (
    JaasEntry,
    MechanismSettings,
    OAuthSettings,
    Secret,
)
from ground.config_def import ConfigError

_SECURITY = "org.apache.kafka.common.security"
_PLAIN = f"{_SECURITY}.plain.PlainLoginModule"
_SCRAM = f"{_SECURITY}.scram.ScramLoginModule"
_OAUTH = f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule"
# The first is the usual one; a SCRAM client of Kafka also works with the module of PLAIN.
_LOGIN_MODULES = {
    "PLAIN": (_PLAIN,),
    "SCRAM-SHA-256": (_SCRAM, _PLAIN),
    "SCRAM-SHA-512": (_SCRAM, _PLAIN),
    "OAUTHBEARER": (_OAUTH,),
}
MECHANISMS = tuple(_LOGIN_MODULES)
"""The supported mechanisms, by their SASL names, which are case-sensitive."""
WITH_PASSWORDS = MECHANISMS[:3]
"""The mechanisms whose client half logs in with `username` and `password` of its JAAS text."""

_INSIDE = f"{_SECURITY}.oauthbearer.internals.unsecured.OAuthBearerUnsecured"
# The second of each pair is the name before Kafka 4.0.
SIGNED_VALIDATORS = tuple(
    f"{_SECURITY}.oauthbearer{package}.OAuthBearerValidatorCallbackHandler"
    for package in ("", ".secured")
)
"""Server classes that accept signed tokens. The others accept unsigned tokens."""
SIGNED_LOGINS = tuple(
    f"{_SECURITY}.oauthbearer{package}.OAuthBearerLoginCallbackHandler"
    for package in ("", ".secured")
)
"""Login classes that fetch a token. The others create an unsigned one."""
_SERVER_CALLBACKS = {
    "PLAIN": (f"{_SECURITY}.plain.internals.PlainServerCallbackHandler",),
    "SCRAM-SHA-256": (f"{_SECURITY}.scram.internals.ScramServerCallbackHandler",),
    "SCRAM-SHA-512": (f"{_SECURITY}.scram.internals.ScramServerCallbackHandler",),
    "OAUTHBEARER": (*SIGNED_VALIDATORS, f"{_INSIDE}ValidatorCallbackHandler"),
}
_LOGIN_CALLBACKS = {
    "OAUTHBEARER": (*SIGNED_LOGINS, f"{_INSIDE}LoginCallbackHandler"),
}
_JAAS = "sasl.jaas.config"
# The keys of OAuthSettings fields that are not `sasl.oauthbearer.` and the field's own name.
_OAUTH_KEYS = {
    "clock_skew_s": "sasl.oauthbearer.clock.skew.seconds",
    "login_connect_timeout_ms": "sasl.login.connect.timeout.ms",
    "login_read_timeout_ms": "sasl.login.read.timeout.ms",
    "response_max_bytes": "ottla.sasl.oauthbearer.response.max.bytes",
    "unsecured_tokens_allowed": "ottla.sasl.oauthbearer.unsecured.tokens.allowed",
}
OAUTH_KEYS = {
    field: _OAUTH_KEYS.get(field, f"sasl.oauthbearer.{field.replace('_', '.')}")
    for field in OAuthSettings.__dataclass_fields__
}
"""The key of each field of OAuthSettings."""


def check_mechanism(key: str, where: str, mechanism: str) -> None:
    """Check that Ottla supports a mechanism.

    `where` says in the error's text what needs the mechanism. Raises ConfigError.
    """
    if mechanism in MECHANISMS:
        return
    served = ", ".join(MECHANISMS)
    if mechanism == "GSSAPI":
        why = "GSSAPI (Kerberos) is not supported, and it is Kafka's default"
    elif mechanism.upper() in MECHANISMS:
        why = f"{mechanism} is not a mechanism: write it {mechanism.upper()}"
    else:
        why = f"{mechanism} is not supported"
    raise ConfigError(
        key, f"{key}: {where} needs a SASL mechanism, and {why}; set {key} to one of {served}"
    )


def server_mechanism(scope: Scope, listener: str, name: str) -> MechanismSettings:
    """Return the settings of a mechanism on a listener; `scope` has the keys of both.

    Raises ConfigError.
    """
    return MechanismSettings(
        name=name,
        jaas=_jaas_entry(scope.nearest(), f"listener {listener} offers {name}", name),
        server_callback_class=_server_callback(scope.nearest(), name),
        login_callback_class=_login_callback(scope.nearest(), name),
        max_reauth_ms=cast(int, scope.value("connections.max.reauth.ms")),
        oauth=_oauth_settings(scope),
    )


def client_mechanism(
    scope: Scope, where: str, name: str, jaas_scope: Scope | None = None
) -> MechanismSettings:
    """Return the settings of a mechanism for a client.

    `where` describes the client in errors. `jaas_scope` is the scope of the JAAS text and the
    classes, if it is narrower than `scope`. Raises ConfigError.
    """
    nearest = jaas_scope or scope
    return MechanismSettings(
        name=name,
        jaas=_jaas_entry(nearest, f"{where} by {name}", name),
        login_callback_class=_login_callback(nearest, name),
        oauth=_oauth_settings(scope),
    )


def usual_login_module(mechanism: str) -> str:
    """Return the class of the login module of a mechanism, in any case; `mechanism` itself if it is
    not supported."""
    return _LOGIN_MODULES.get(mechanism.upper(), (mechanism,))[0]


def entry_of(mechanism: str, entries: Sequence[JaasEntry]) -> JaasEntry | None:
    """Return the login module of `mechanism` in a section of a JAAS file, or None."""
    return next(
        (
            entry
            for module in _LOGIN_MODULES[mechanism]
            for entry in entries
            if entry.login_module == module
        ),
        None,
    )


def password_fault(mechanism: MechanismSettings) -> str | None:
    """Return what the JAAS text lacks for a login by a password, as an error names it; None if
    nothing."""
    if mechanism.name not in WITH_PASSWORDS or mechanism.jaas is None:
        return None
    missing = [
        option for option in ("username", "password") if option not in mechanism.jaas.options
    ]
    return " and no ".join(missing) or None


def _jaas_entry(scope: Scope, why: str, mechanism: str) -> JaasEntry:
    """Return the login module and its options for `mechanism`.

    Raises ConfigError if the text is missing, malformed or of another mechanism; `why` says in the
    error what needs it.
    """
    key, text = scope.name(_JAAS), scope.text(_JAAS)
    modules = _LOGIN_MODULES[mechanism]
    if text is None:
        plain = f"; {_JAAS} without that prefix is not read" if _JAAS in scope.texts else ""
        raise ConfigError(
            key, f"{key} is not set: {why}; set it to {modules[0]} required ...;{plain}"
        )
    try:
        entry = parse_jaas(text)
    except JaasError as error:
        raise ConfigError(key, f"{key}: {error}") from None
    if entry.login_module not in modules:
        if any(entry.login_module in served for served in _LOGIN_MODULES.values()):
            reason = f"the login module of {mechanism} is {modules[0]}"
        else:
            reason = f"Java classes cannot be loaded; the one of {mechanism} is {modules[0]}"
        raise ConfigError(key, f"{key}: login module {_named(entry.login_module)}: {reason}")
    return entry


def _named(login_module: str) -> str:
    """Return a login module for an error: only a class name, since other texts may be secret."""
    is_class = "." in login_module and login_module.replace(".", "").isidentifier()
    return login_module if is_class else "that is no class"


def _login_callback(scope: Scope, mechanism: str) -> str | None:
    """Return the class that gets a login's credentials, or None.

    Raises ConfigError if it is not served, or if `sasl.login.class` is set.
    """
    _served_class(scope, "sasl.login.class", {}, mechanism)
    return _served_class(scope, "sasl.login.callback.handler.class", _LOGIN_CALLBACKS, mechanism)


def _server_callback(scope: Scope, mechanism: str) -> str | PythonClass | None:
    """Return the class that checks logins, or None for the built-in check. Raises ConfigError."""
    key = "sasl.server.callback.handler.class"
    built_in = _SERVER_CALLBACKS[mechanism]
    return class_of(scope.name(key), scope.text(key), built_in, f"built into {mechanism}")


def _served_class(
    scope: Scope, key: str, classes: Mapping[str, tuple[str, ...]], mechanism: str
) -> str | None:
    """Return the class that the key sets, or None. Raises ConfigError if the mechanism lacks it."""
    text = (scope.text(key) or "").strip()
    if not text:
        return None
    served = classes.get(mechanism, ())
    if text not in served:
        only = f"; {mechanism} has {' and '.join(served)}" if served else "; leave it out"
        name = scope.name(key)
        raise ConfigError(name, f"{name}={text}: Java classes cannot be loaded{only}")
    return text


def _oauth_settings(scope: Scope) -> OAuthSettings:
    """Return the settings of OAUTHBEARER. Raises ConfigError for a wrong value."""
    values = {field: _oauth_value(scope, key) for field, key in OAUTH_KEYS.items()}
    return OAuthSettings(**values)  # type: ignore[arg-type]


def _oauth_value(scope: Scope, key: str) -> object:
    """Return a value of OAuthSettings: a Secret if it is sensitive, None for an empty text.

    Ottla's own keys apply to the whole node.
    """
    value = (Scope(scope.texts) if key.startswith("ottla.") else scope).value(key)
    if value is None or value == "":
        return None
    return Secret(str(value)) if BROKER_CONFIG_DEF[key].sensitive else value
