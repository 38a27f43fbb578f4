"""The share coordinator's APIs, for brokers: states of share-partitions (KIP-932).

InitializeShareGroupState v0, ReadShareGroupState v0, WriteShareGroupState v0-1,
DeleteShareGroupState v0, ReadShareGroupStateSummary v0-1.

Behaviour: each partition of a request is decided by itself and has its own error and message. The
answer comes after all records are committed. If a partition is named twice, both entries count, and
the last answer. A request without a group or topics, or with a topic without partitions, has an
empty answer; only InitializeShareGroupState leaves out such a topic instead. As in Kafka, the level
of `share.version` is not checked: the brokers that ask have checked it.

Rights: CLUSTER_ACTION on the cluster, otherwise each partition fails with
CLUSTER_AUTHORIZATION_FAILED.

Versions: WriteShareGroupState and ReadShareGroupStateSummary v1 have the number of final records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from broker.share.state import state_api
from broker.share.state.share_coordinator import ShareCoordinator
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer
from broker.share.state.state_api import (
    StateApi,
    StateEntry,
    StateRequest,
    StateResponse,
    StateResult,
)
from ground.sliced_work import Pace, Steps, in_one_go
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode

DECIDED_A_SLICE = 20
"""The most partitions in one slice; most of them append a record."""
_REFUSED = StateAnswer(start_offset=0)
"""The state in the answer to a rejected request, as Kafka gives it."""
_DENIED = _REFUSED._replace(message="Cluster authorization failed.")


class _Result(NamedTuple):
    """The answer for a partition."""

    topic_id: bytes
    partition: int
    error: ErrorCode
    answer: StateAnswer


class ShareGroupStateApi:
    """The handlers of the five APIs."""

    def __init__(self, coordinator: ShareCoordinator, answers: SlicedAnswers) -> None:
        self._coordinator = coordinator
        self._answers = answers

    def apis(self) -> list[Api]:
        return [
            Api(api.key, 0, api.latest, partial(self._handle, api), partial(_refuse, api))
            for api in state_api.APIS
        ]

    def _handle(
        self,
        api: StateApi,
        context: RequestContext,
        request: StateRequest,
        respond: Respond,
    ) -> None:
        """Ask the coordinator for each partition, and respond with all answers. Without
        CLUSTER_ACTION, respond with CLUSTER_AUTHORIZATION_FAILED for each."""
        refuse = partial(_refuse, api)
        if not context.rights.allows_on_cluster(Operation.CLUSTER_ACTION):
            error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            denied = _all_refused(api, request, error, _DENIED)
            self._answers.give(context, request, denied, respond, refuse)
            return

        def answered(results: list[_Result]) -> None:
            """Respond with the results of all partitions."""
            self._answers.give(context, request, _response(api, results), respond, refuse)

        def listed(entries: list[tuple[bytes, StateEntry]]) -> None:
            """Ask for the partitions of the request."""
            ask = partial(self._ask, api, request.group_id)
            self._answers.gather(
                context, request, entries, ask, answered, respond, refuse, DECIDED_A_SLICE
            )

        self._answers.judge(context, request, _entries(api, request), listed, respond, refuse)

    def _ask(
        self,
        api: StateApi,
        group_id: str,
        item: tuple[bytes, StateEntry],
        take: Callable[[_Result], None],
    ) -> None:
        """Ask the coordinator for a partition; `take` gets the result: INVALID_REQUEST for batches
        that cannot be."""
        topic_id, entry = item
        key = SharePartitionKey(group_id, topic_id, entry.partition)

        def reply(error: ErrorCode, answer: StateAnswer) -> None:
            take(_Result(topic_id, key.partition, error, answer))

        try:
            arguments = api.arguments(entry)
        except ValueError as fault:
            reply(ErrorCode.INVALID_REQUEST, StateAnswer(message=str(fault)))
            return
        api.decide(self._coordinator, key, *arguments, reply)


def _entries(api: StateApi, request: StateRequest) -> Steps[list[tuple[bytes, StateEntry]]]:
    """Return the partitions of a request, each with its topic id; none of a request that has no
    group or, except for an initialization, a topic without partitions."""
    entries: list[tuple[bytes, StateEntry]] = []
    if not request.group_id:
        return entries
    pace = Pace()
    for topic in request.topics:
        if not topic.partitions and api is not state_api.INITIALIZE:
            return []
        for entry in topic.partitions:
            if pace.is_full():
                yield None
            entries.append((topic.topic_id, entry))
    return entries


def _response(api: StateApi, results: Iterable[_Result]) -> Steps[StateResponse]:
    """Return the response with these results, by topic and in the order of the request."""
    pace = Pace()
    topics: dict[bytes, dict[int, StateResult]] = {}
    for topic_id, partition, error, answer in results:
        if pace.is_full(1 + len(answer.batches)):
            yield None
        message = (answer.message or error.name) if error else None
        result = api.partition(partition, int(error), message, _REFUSED if error else answer)
        topics.setdefault(topic_id, {})[partition] = result
    return api.response(
        [api.topic(topic_id, [*rows.values()]) for topic_id, rows in topics.items()]
    )


def _all_refused(
    api: StateApi, request: StateRequest, error: ErrorCode, answer: StateAnswer
) -> Steps[StateResponse]:
    """Return a response with `error` for every partition."""
    pace, topics = Pace(), []
    for topic in request.topics:
        rows: list[StateResult] = []
        topics.append(api.topic(topic.topic_id, rows))
        for entry in topic.partitions:
            if pace.is_full():
                yield None
            rows.append(api.partition(entry.partition, int(error), answer.message, answer))
    return api.response(topics)


def _refuse(api: StateApi, request: StateRequest, error: ErrorCode) -> StateResponse:
    """Return a response with `error` for every partition."""
    return in_one_go(_all_refused(api, request, error, _REFUSED))
