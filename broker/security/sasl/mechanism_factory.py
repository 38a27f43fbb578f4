"""The mechanisms of one listener by their names, each with what it needs to judge by.

Owns nothing; `authenticator` asks it for each login.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker.config.security_settings import MechanismSettings, SaslSettings
from broker.security.sasl.plain import PlainServer, PlainUsers
from broker.security.sasl.scram import ScramCredentials, ScramServer
from broker.security.sasl.server_mechanism import NewServerMechanism, ServerMechanism
from controller.metadata.scram_credential import SCRAM_MECHANISMS

PLAIN = "PLAIN"


def server_mechanisms(
    sasl: SaslSettings,
    credentials: ScramCredentials,
    nonce: Callable[[], str],
    others: dict[str, Callable[[], ServerMechanism]] | None = None,
) -> NewServerMechanism:
    """`nonce`: see `ScramServer`; `others`: mechanisms that are made elsewhere, by their names."""
    known = dict(others or {})
    for settings in sasl.mechanisms:
        if settings.name == PLAIN:
            known[PLAIN] = partial(PlainServer, _plain_users(settings))
        elif (scram := SCRAM_MECHANISMS.get(settings.name)) is not None:
            known[settings.name] = partial(ScramServer, scram, credentials, nonce)
        else:
            assert settings.name in known, f"nobody makes the mechanism {settings.name}"
    return lambda name: known[name]()


def _plain_users(settings: MechanismSettings) -> PlainUsers:
    return PlainUsers({} if settings.jaas is None else settings.jaas.options)
