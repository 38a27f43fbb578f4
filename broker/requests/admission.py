"""The rights that a request's sender has, and how long a judgement about them stays valid.

It owns the epoch of the permissions, quotas and plug-ins by which requests are judged. A component
that changes one of them calls `changed`, which invalidates all requests that were prepared before
(`broker.requests.prepared`). Without a judge, all clients may do everything.

It never handles a request, knows an API, or judges.
"""

from __future__ import annotations

from broker.requests import context
from controller.authorization.rights import UNLIMITED, Judge, Rights, VerdictLog
from ottla.plugins.authorizer import Asker


class Admission:
    """The rights of the senders of a node's requests."""

    def __init__(self) -> None:
        self.epoch = 0
        """The number of the current judgements; a judgement with another epoch is out of date."""
        self.may_prepare = True
        """Whether a judgement about one request is valid for equal requests too."""
        self._watchers = 0
        self._judge: Judge | None = None
        self._audit: VerdictLog | None = None

    def rights_of(
        self, client: context.ClientIdentity, client_id: str | None, api_key: int, api_version: int
    ) -> Rights:
        """Return the rights of a request's sender, which are unlimited if there is no judge. Read
        `epoch` before you check them."""
        if self._judge is None:
            return UNLIMITED
        asker = Asker(
            client.principal,
            client.client_host,
            client.listener_name,
            client.security_protocol,
            client_id,
            api_key,
            api_version,
        )
        return Rights(self._judge, asker, self._audit, self)

    def judge_by(self, judge: Judge | None, audit: VerdictLog | None = None) -> None:
        """Set the judge of all further requests, and the log of its verdicts. Invalidate earlier
        judgements. A judge of None allows all clients everything."""
        self._judge = judge
        self._audit = audit
        self.changed()

    def changed(self) -> None:
        """Increment `epoch`, which invalidates earlier judgements: permissions, quotas or plug-ins
        have changed."""
        self.epoch += 1

    def hold_preparing(self) -> None:
        """Set `may_prepare` to False until `release_preparing`, and invalidate prepared requests. A
        component must see each request: an interceptor, an authorizer whose answers are not
        remembered, or the injection of faults."""
        self._watchers += 1
        self.may_prepare = False
        self.changed()

    def release_preparing(self) -> None:
        """Revoke one call of `hold_preparing`. After the last one, `may_prepare` is True again."""
        assert self._watchers, "nobody has asked to see each request"
        self._watchers -= 1
        self.may_prepare = not self._watchers
