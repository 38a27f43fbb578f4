"""Factories of SASL mechanisms: those of a listener by their names, and that of a client.

Owns nothing: `authenticator` and `client_authenticator` call the factories at each login. Never
makes a mechanism of OAUTHBEARER or of a plugin; the caller gives their factories.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker.config.security_settings import MechanismSettings, SaslSettings, Secret
from broker.security.sasl.client_mechanism import ClientMechanism, NewClientMechanism
from broker.security.sasl.plain import PlainClient, PlainServer, PlainUsers
from broker.security.sasl.scram import ScramCredentials, ScramServer, TokenLogins, no_tokens
from broker.security.sasl.scram_client import SaltedPasswords, ScramClient
from broker.security.sasl.server_mechanism import NewServerMechanism, ServerMechanism
from controller.metadata.scram_credential import SCRAM_MECHANISMS

PLAIN = "PLAIN"


def server_mechanisms(
    sasl: SaslSettings,
    credentials: ScramCredentials,
    nonce: Callable[[], str],
    others: dict[str, Callable[[], ServerMechanism]] | None = None,
    tokens: TokenLogins = no_tokens,
) -> NewServerMechanism:
    """Return a function that begins a login by the mechanism of a name, which must be among those
    of `sasl`. `nonce` and `tokens` are as in `ScramServer`; `others` has factories of mechanisms by
    name, which replace those of this module."""
    factories = dict(others or {})
    for settings in sasl.mechanisms:
        if settings.name in factories:
            continue
        if settings.name == PLAIN:
            factories[PLAIN] = partial(PlainServer, _plain_users(settings))
        elif (scram := SCRAM_MECHANISMS.get(settings.name)) is not None:
            factories[settings.name] = partial(ScramServer, scram, credentials, nonce, tokens)
        else:
            assert settings.name in factories, f"nobody makes the mechanism {settings.name}"
    return lambda name: factories[name]()


def _plain_users(settings: MechanismSettings) -> PlainUsers:
    """Return the users that the mechanism's JAAS text lists; none without a JAAS text."""
    return PlainUsers({} if settings.jaas is None else settings.jaas.options)


def client_mechanism(
    settings: MechanismSettings,
    nonce: Callable[[], str],
    others: dict[str, Callable[[], ClientMechanism]] | None = None,
) -> NewClientMechanism:
    """Return a function that begins a client's login by the mechanism of `settings`, with the
    username and password of its JAAS text. Callers keep the function, because it caches salted
    passwords. `nonce` and `others` are as in `server_mechanisms`."""
    if others and settings.name in others:
        return others[settings.name]
    scram = SCRAM_MECHANISMS.get(settings.name)
    assert scram is not None or settings.name == PLAIN, (
        f"nobody makes the mechanism {settings.name}"
    )
    assert settings.jaas is not None, "the configuration has refused that"
    name = settings.jaas.options["username"].value
    password = settings.jaas.options["password"]
    if scram is None:
        return partial(PlainClient, name, password)
    by_token = _says_true(settings.jaas.options.get("tokenauth"))
    passwords = SaltedPasswords(scram, password)
    return partial(ScramClient, name, passwords, nonce, by_token=by_token)


def _says_true(option: Secret | None) -> bool:
    """Return whether the option is set to `true`, in any case."""
    return option is not None and option.value.lower() == "true"
