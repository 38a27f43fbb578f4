"""What is asked before a request is handled: whether its client may ask that at all.

Owns the epoch of everything by which requests are judged: permissions, quotas, plug-ins. Whoever
changes one of them calls `changed`, and what was prepared by the judgement before it is prepared no
more (`broker.requests.prepared`). Today there is no authorizer: everybody may ask everything.

Never handles a request, or knows an API.
"""

from __future__ import annotations

from typing import Any, Protocol

from broker.requests.context import RequestContext
from protocol.errors import ErrorCode


class Authorizer(Protocol):
    """Judges requests."""

    def refuses(self, context: RequestContext, request: Any) -> ErrorCode:
        """Why the whole request is refused; NONE where it is handled."""


class Admission:
    """One for a node's requests."""

    def __init__(self) -> None:
        self.epoch = 0
        """Of the judgements: one with another epoch says nothing about today."""
        self.may_prepare = True
        """Whether a judgement about one request holds for the next one like it."""
        self._authorizer: Authorizer | None = None

    def refuses(self, context: RequestContext, request: Any) -> ErrorCode:
        """See `Authorizer`. `epoch` is to be read before this is asked."""
        if self._authorizer is None:
            return ErrorCode.NONE
        return self._authorizer.refuses(context, request)

    def judge_by(self, authorizer: Authorizer | None) -> None:
        """From now on by this one; None: everybody may ask everything."""
        self._authorizer = authorizer
        self.changed()

    def changed(self) -> None:
        """Permissions, quotas or plug-ins are others now."""
        self.epoch += 1

    def prepare_nothing(self) -> None:
        """Each request is to be seen from now on: by an interceptor, by an authorizer whose word
        holds once, by who injects faults."""
        self.may_prepare = False
        self.changed()
