"""ShareAcknowledge: v1-2.

Behaviour: a member accepts, releases or rejects records that it has acquired, or tells that the log
has no record at an offset. The response comes after the share coordinator has written that. One
wrong acknowledgement of a partition rejects all of the partition. The request continues the
member's share session; the epoch -1 closes the session and releases the member's other records.

Rights: READ on the group (GROUP_AUTHORIZATION_FAILED), and on each topic
(TOPIC_AUTHORIZATION_FAILED). If `share.version` is 0, the request fails with UNSUPPORTED_VERSION.

Versions: v2 renewed locks (KIP-1222).
"""

from __future__ import annotations

import sys

from broker.apis.share_fetch.acknowledgements import (
    RENEW_FROM,
    Acknowledging,
    RenewRules,
    Verdicts,
)
from broker.apis.share_fetch.answer import Leaders, acknowledge_response
from broker.apis.share_fetch.member_requests import readable_topics, refusal_of
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from broker.share.sessions import FINAL_EPOCH, MemberKey, SessionRefusal
from broker.share.share_partition_manager import SharePartitionManager
from ground.sliced_work import Pace, Steps, in_one_go
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse

PARTITIONS_AT_ONCE = 512
"""The most partitions that one slice handles."""


class ShareAcknowledgeApi:
    """The handler of ShareAcknowledge."""

    def __init__(
        self, manager: SharePartitionManager, replicas: ReplicaManager, answers: SlicedAnswers
    ) -> None:
        """Serve the share-partitions of `manager`."""
        self._manager = manager
        self._replicas = replicas
        self._answers = answers

    def apis(self) -> list[Api]:
        return [Api(ApiKey.SHARE_ACKNOWLEDGE, 1, 2, self.handle, refuse_share_acknowledge)]

    def handle(
        self, context: RequestContext, request: ShareAcknowledgeRequest, respond: Respond
    ) -> None:
        """Continue or close the session and apply the acknowledgements; respond after they are
        written."""
        refusal = refusal_of(self._manager, context, request.group_id, request.member_id)
        if refusal is not None:
            respond(refuse_share_acknowledge(request, refusal))
            return
        member = MemberKey(request.group_id or "", request.member_id or "")
        try:
            self._manager.sessions.acknowledge(member, request.share_session_epoch)
        except SessionRefusal as refused:
            respond(refuse_share_acknowledge(request, refused.error))
            return
        steps = self._steps(context, request, member, respond)
        refuse = refuse_share_acknowledge
        self._answers.judge(context, request, steps, _ignore, respond, refuse)

    def _steps(
        self,
        context: RequestContext,
        request: ShareAcknowledgeRequest,
        member: MemberKey,
        respond: Respond,
    ) -> Steps[None]:
        """Begin the acknowledgements, which respond after the last verdict."""
        pace = Pace(PARTITIONS_AT_ONCE)
        topic_ids = [topic.topic_id for topic in request.topics]
        readable = yield from readable_topics(context.rights, self._replicas, topic_ids)

        def acknowledged(verdicts: Verdicts) -> None:
            """Close the session if the request does that, and respond."""
            settings = self._manager.settings(member.group_id)
            leaders = Leaders(self._replicas, context.listener_name)
            response = in_one_go(
                acknowledge_response(
                    verdicts, leaders, settings.lock_duration_ms, Pace(sys.maxsize)
                )
            )
            if request.share_session_epoch == FINAL_EPOCH:
                self._manager.close_session(member)
            respond(response)

        renew = RenewRules(context.api_version >= RENEW_FROM, request.is_renew_ack)
        acknowledging = Acknowledging(self._manager, self._replicas, member, renew, acknowledged)
        yield from acknowledging.begin(request.topics, readable, pace)


def _ignore(_: None) -> None:
    """Do nothing: the answer is sent after the last verdict."""


def refuse_share_acknowledge(
    request: ShareAcknowledgeRequest, error: ErrorCode
) -> ShareAcknowledgeResponse:
    """Return a response with `error` at the top."""
    return ShareAcknowledgeResponse(error_code=int(error))
