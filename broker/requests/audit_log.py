"""The audit log: the operations that were allowed or denied to each client, and by which rule.

Its logger is `ottla.authorizer`, as Kafka's `kafka.authorizer.logger`. Denials are logged at INFO,
which is on by default, and permissions at DEBUG. The number of denials logged in a second is
limited, so that no client fills a disk by its requests. The next line says how many denials were
not logged. A resource that is merely omitted from a response is neither logged nor counted.

It counts permissions and denials for Kafka's metrics of authorizers (KIP-877).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker.loop.log_limit import LogLimit, printable
from controller.authorization.rights import Verdict
from ottla.plugins.authorizer import Action, Asker
from protocol.api_keys import ApiKey

_log = logging.getLogger("ottla.authorizer")


class AuditLog:
    """The audit of judgements (`controller.authorization.rights.VerdictLog`), as lines of the
    log."""

    def __init__(self, denials_per_second: int, clock_s: Callable[[], float]) -> None:
        self.allowed = 0
        self.denied = 0
        self._limit = LogLimit(denials_per_second, clock_s)

    def record_verdict(self, asker: Asker, action: Action, verdict: Verdict, count: int) -> None:
        """Count a verdict, and log it: a permission at DEBUG, a denial at INFO, within the limit of
        denials per second. `count` is how often the request names the resource."""
        if verdict.allowed:
            self.allowed += 1
            if _log.isEnabledFor(logging.DEBUG):
                _log.debug("%s", _audit_line(asker, action, verdict, count))
            return
        self.denied += 1
        if not _log.isEnabledFor(logging.INFO):
            return
        left_out = self._limit.next_line()
        if left_out is None:
            return
        left_out_text = f"; {left_out} denials before this one were not logged" if left_out else ""
        _log.info("%s%s", _audit_line(asker, action, verdict, count), left_out_text)


def _audit_line(asker: Asker, action: Action, verdict: Verdict, count: int) -> str:
    """Return the line of the audit log; `count` is the number of times the resource was named."""
    return (
        f"Principal = {printable(asker.principal)} is {'Allowed' if verdict.allowed else 'Denied'} "
        f"operation = {action.operation.name} from host = {asker.host} "
        f"on resource = {_pascal(action.resource.name)}:LITERAL:{printable(action.name)} "
        f"for request = {_pascal(ApiKey(asker.api_key).name)} with resourceRefCount = {count} "
        f"based on rule {printable(str(verdict.rule))}"
    )


def _pascal(name: str) -> str:
    """Return a name as Kafka's log has it: `TransactionalId` for TRANSACTIONAL_ID."""
    return name.title().replace("_", "")
