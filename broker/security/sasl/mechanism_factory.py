"""The mechanisms of one listener by their names, each with what it needs to judge by; and the one
that a client logs in by.

Owns nothing; `authenticator` and `client_authenticator` begin each login by it.
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
    """`nonce`, `tokens`: see `ScramServer`; `others`: mechanisms that are made elsewhere, by their
    names; they go before those of here."""
    known = dict(others or {})
    for settings in sasl.mechanisms:
        if settings.name in known:
            continue
        if settings.name == PLAIN:
            known[PLAIN] = partial(PlainServer, _plain_users(settings))
        elif (scram := SCRAM_MECHANISMS.get(settings.name)) is not None:
            known[settings.name] = partial(ScramServer, scram, credentials, nonce, tokens)
        else:
            assert settings.name in known, f"nobody makes the mechanism {settings.name}"
    return lambda name: known[name]()


def _plain_users(settings: MechanismSettings) -> PlainUsers:
    return PlainUsers({} if settings.jaas is None else settings.jaas.options)


def client_mechanism(
    settings: MechanismSettings,
    nonce: Callable[[], str],
    others: dict[str, Callable[[], ClientMechanism]] | None = None,
) -> NewClientMechanism:
    """How a client logs in, with the name and password of its JAAS text. To be kept: it remembers
    what a password costs to compute. `nonce`, `others`: see `server_mechanisms`."""
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
    return option is not None and option.value.lower() == "true"
