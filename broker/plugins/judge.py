"""An authorizer of one's own, as the node asks it (`controller.authorization.rights.Judge`).

Owns: that one that fails denies, and that what it takes of the loop's time is told. Never judges.
`Standard` is the other way round: the judge by ACLs, as an authorizer of one's own may ask it.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.plugins.loop_calls import LoopCalls
from controller.authorization.rights import Judge, Verdict
from ottla.plugins.authorizer import Action, Asker, Authorizer, Operation, Resource
from protocol.ip_address import one_spelling


class PluginJudge:
    """See the module."""

    def __init__(self, authorizer: Authorizer, calls: LoopCalls) -> None:
        self._authorizer = authorizer
        self.remembered = authorizer.remembered
        """Whether its word about a request holds for the next one like it."""
        self._calls = calls
        self._allowed = Verdict(True, calls.name)
        self._denied = Verdict(False, calls.name)
        self._failed = Verdict(False, f"{calls.name}, which failed")

    def judge(self, asker: Asker, action: Action) -> Verdict:
        """Whether `asker` may do that."""
        return self._asked(lambda: self._authorizer.allows(asker, action))

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        """Whether `asker` may do `operation` to at least one resource of that type."""
        return self._asked(lambda: self._authorizer.allows_any(asker, operation, resource))

    def _asked(self, question: Callable[[], object]) -> Verdict:
        calls = self._calls
        began_ms = calls.clock_ms()
        try:
            answer = question()
        except Exception as error:  # noqa: BLE001  a plug-in's: whatever it is, it denies
            calls.failed(error)
            return self._failed
        finally:
            calls.ended(began_ms)
        if answer is True:
            return self._allowed
        if answer is not False:
            calls.misled(f"gave {type(answer).__name__} for an answer, not a bool: it is denied")
        return self._denied


class Standard(Authorizer):
    """Judges by the ACLs in the metadata and by `super.users`."""

    remembered = True

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def allows(self, asker: Asker, action: Action) -> bool:
        """See `Authorizer`."""
        return self._judge.judge(_in_one_spelling(asker), action).allowed

    def allows_any(self, asker: Asker, operation: Operation, resource: Resource) -> bool:
        """See `Authorizer`."""
        return self._judge.judge_any(_in_one_spelling(asker), operation, resource).allowed


def _in_one_spelling(asker: Asker) -> Asker:
    # The authorizer may have found another address, such as that of a client behind a proxy.
    host = one_spelling(asker.host)
    return asker if host == asker.host else asker._replace(host=host)
