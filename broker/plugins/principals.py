"""A principal builder of one's own, as a listener's guard asks it.

Owns: what it is told of a certificate, and that one that fails, or gives what is no principal,
lets nobody in. Never judges a certificate or a login.
"""

from __future__ import annotations

from broker.plugins.loop_calls import LoopCalls
from broker.security.listener_guard import NoPrincipal
from ottla.plugins.principal import Peer, PrincipalBuilder

PRINCIPAL_CHARACTERS_MAX = 1_000
"""It is looked up for each request, and stands in answers and logs."""


class PluginPrincipals:
    """Of one listener (`broker.security.listener_guard.NamePeer`)."""

    def __init__(self, builder: PrincipalBuilder, calls: LoopCalls) -> None:
        self._builder = builder
        self._calls = calls

    def __call__(self, peer: Peer) -> str:
        """The principal of who has authenticated. Raises NoPrincipal."""
        calls = self._calls
        began_ms = calls.clock_ms()
        try:
            found: object = self._builder.principal(peer)
        except Exception as error:
            calls.failed(error)
            raise NoPrincipal(f"{calls.name} raised {type(error).__name__}") from error
        finally:
            calls.ended(began_ms)
        if isinstance(found, str) and len(found) <= PRINCIPAL_CHARACTERS_MAX:
            kind, colon, name = found.partition(":")
            if kind and colon and name:
                return found
        raise NoPrincipal(f"{calls.name} gave what is no Type:name")
