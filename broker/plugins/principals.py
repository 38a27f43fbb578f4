"""A user's principal builder, which a listener's guard calls.

Owns: the rule that a connection is rejected if the builder fails or returns no valid principal.
Never judges a certificate or a login.
"""

from __future__ import annotations

from broker.plugins.loop_calls import LoopCalls
from broker.security.listener_guard import NoPrincipal
from ottla.plugins.principal import Peer, PrincipalBuilder

PRINCIPAL_CHARACTERS_MAX = 1_000
"""The longest principal: it is looked up for each request, and is part of answers and logs."""


class PluginPrincipals:
    """The principal builder of one listener: a `broker.security.listener_guard.BuildPrincipal`."""

    def __init__(self, builder: PrincipalBuilder, calls: LoopCalls) -> None:
        self._builder = builder
        self._calls = calls

    def __call__(self, peer: Peer) -> str:
        """Return the principal of an authenticated client, `Type:name`. Raises NoPrincipal if the
        builder fails or returns another value, or a text above PRINCIPAL_CHARACTERS_MAX."""
        calls = self._calls
        began_ms = calls.clock_ms()
        try:
            principal: object = self._builder.principal(peer)
        except Exception as error:
            calls.failed(error)
            raise NoPrincipal(f"{calls.name} raised {type(error).__name__}") from error
        finally:
            calls.ended(began_ms)
        if isinstance(principal, str) and len(principal) <= PRINCIPAL_CHARACTERS_MAX:
            kind, colon, name = principal.partition(":")
            if kind and colon and name:
                return principal
        raise NoPrincipal(f"{calls.name} gave what is no Type:name")
