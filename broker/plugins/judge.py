"""A user's authorizer as a `controller.authorization.rights.Judge` of the node.

Owns: the rule that an action is denied if the authorizer fails, and the log lines about slow calls.
Never decides itself. `Standard` is the reverse adapter: a user's authorizer may call the standard
one, by ACLs, through it.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.plugins.loop_calls import LoopCalls
from controller.authorization.rights import Judge, Verdict
from ottla.plugins.authorizer import Action, Asker, Authorizer, Operation, Resource
from protocol.ip_address import canonical_address


class PluginJudge:
    """A judge that asks a user's `Authorizer`."""

    def __init__(self, authorizer: Authorizer, calls: LoopCalls) -> None:
        self._authorizer = authorizer
        self.remembered = authorizer.remembered
        """Whether a verdict on a request is valid for later requests like it."""
        self._calls = calls
        self._allowed = Verdict(True, calls.name)
        self._denied = Verdict(False, calls.name)
        self._failed = Verdict(False, f"{calls.name}, which failed")

    def judge(self, asker: Asker, action: Action) -> Verdict:
        """Return the authorizer's verdict on `action`, a denial if it fails."""
        return self._verdict_of(lambda: self._authorizer.allows(asker, action))

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        """Return the authorizer's verdict on `operation` on at least one resource of that type, a
        denial if it fails."""
        return self._verdict_of(lambda: self._authorizer.allows_any(asker, operation, resource))

    def _verdict_of(self, question: Callable[[], object]) -> Verdict:
        """Return the plug-in's verdict. An error or an answer that is no bool denies, and is logged
        as an error; a slow call is logged, too."""
        calls = self._calls
        began_ms = calls.clock_ms()
        try:
            answer = question()
        except Exception as error:  # noqa: BLE001  any error of a plug-in is a denial
            calls.failed(error)
            return self._failed
        finally:
            calls.ended(began_ms)
        if answer is True:
            return self._allowed
        if answer is not False:
            calls.invalid_answer(
                f"gave {type(answer).__name__} for an answer, not a bool: it is denied"
            )
        return self._denied


class Standard(Authorizer):
    """The authorizer by the ACLs in the metadata and `super.users`, for plug-ins to call."""

    remembered = True

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def allows(self, asker: Asker, action: Action) -> bool:
        """Return whether the ACLs allow `asker` to do `action`."""
        return self._judge.judge(_with_canonical_host(asker), action).allowed

    def allows_any(self, asker: Asker, operation: Operation, resource: Resource) -> bool:
        """Return whether the ACLs allow `operation` on at least one resource of that type."""
        return self._judge.judge_any(_with_canonical_host(asker), operation, resource).allowed


def _with_canonical_host(asker: Asker) -> Asker:
    """Return `asker` with its IPv6 address in the spelling that ACLs are compared by."""
    # The authorizer may pass another address, such as that of a client behind a proxy.
    host = canonical_address(asker.host)
    return asker if host == asker.host else asker._replace(host=host)
