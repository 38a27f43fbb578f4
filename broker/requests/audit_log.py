"""The log of what was judged: who was denied what, and by which rule.

Logger `ottla.authorizer`, as Kafka's `kafka.authorizer.logger`: what is denied at INFO, what is
allowed at DEBUG.
"""

from __future__ import annotations

import logging

from ottla.plugins.authorizer import Action, Asker
from protocol.api_keys import ApiKey
from protocol.rights import Verdict

_log = logging.getLogger("ottla.authorizer")


class AuditLog:
    """See the module (`protocol.rights.Audit`)."""

    def told(self, asker: Asker, action: Action, verdict: Verdict, count: int) -> None:
        """`count`: how often the request names the resource."""
        level = logging.DEBUG if verdict.allowed else logging.INFO
        if not _log.isEnabledFor(level):
            return
        _log.log(
            level,
            "Principal = %s is %s operation = %s from host = %s on resource = %s:LITERAL:%s "
            "for request = %s with resourceRefCount = %d based on rule %s",
            asker.principal,
            "Allowed" if verdict.allowed else "Denied",
            action.operation.name,
            asker.host,
            action.resource.name,
            action.name,
            ApiKey(asker.api_key).name,
            count,
            verdict.rule,
        )
