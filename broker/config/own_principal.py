"""The principal of this node on the listeners of other nodes.

The other node decides it: from the user name of a login, or else from the certificate. Never reads
a store.
"""

from __future__ import annotations

from broker.config.listener_security import ClientSecurity

_ANONYMOUS = "User:ANONYMOUS"


def own_principal(security: ClientSecurity) -> str:
    """Return, for log lines, the principal that another node most likely gives this one."""
    mechanism, tls = security.mechanism, security.tls
    if mechanism is not None:
        name = None if mechanism.jaas is None else mechanism.jaas.options.get("username")
        return "the user of its token" if name is None else f"User:{name.value}"
    if tls is None:
        return _ANONYMOUS
    if tls.keystore_location is None and tls.keystore_certificate_chain is None:
        return f"{_ANONYMOUS}, since it has no certificate (ssl.keystore.location),"
    return "the subject of its certificate (the other node's log names it)"
