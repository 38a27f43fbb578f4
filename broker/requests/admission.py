"""What a request's sender may do, and for how long that holds.

Owns the epoch of everything by which requests are judged: permissions, quotas, plug-ins. Whoever
changes one of them calls `changed`, and what was prepared by the judgement before it is prepared no
more (`broker.requests.prepared`). Without a judge, everybody may ask everything.

Never handles a request, knows an API, or judges.
"""

from __future__ import annotations

from broker.requests import context
from controller.authorization.rights import UNLIMITED, Audit, Judge, Rights
from ottla.plugins.authorizer import Asker


class Admission:
    """One for a node's requests."""

    def __init__(self) -> None:
        self.epoch = 0
        """Of the judgements: one with another epoch says nothing about today."""
        self.may_prepare = True
        """Whether a judgement about one request holds for the next one like it."""
        self._watchers = 0
        self._judge: Judge | None = None
        self._audit: Audit | None = None

    def rights_of(
        self, asker: context.Asker, client_id: str | None, api_key: int, api_version: int
    ) -> Rights:
        """Of whoever sent a request. `epoch` is to be read before they are asked."""
        if self._judge is None:
            return UNLIMITED
        who = Asker(
            asker.principal,
            asker.client_host,
            asker.listener_name,
            asker.security_protocol,
            client_id,
            api_key,
            api_version,
        )
        return Rights(self._judge, who, self._audit, self)

    def judge_by(self, judge: Judge | None, audit: Audit | None = None) -> None:
        """From now on by this one; None: everybody may ask everything."""
        self._judge = judge
        self._audit = audit
        self.changed()

    def changed(self) -> None:
        """Permissions, quotas or plug-ins are others now."""
        self.epoch += 1

    def prepare_nothing(self) -> None:
        """Each request is to be seen from now on: by an interceptor, by an authorizer whose word
        holds once, by who injects faults."""
        self._watchers += 1
        self.may_prepare = False
        self.changed()

    def prepare_again(self) -> None:
        """One of those who asked for that need not see each request any more."""
        assert self._watchers, "nobody has asked to see each request"
        self._watchers -= 1
        self.may_prepare = not self._watchers
