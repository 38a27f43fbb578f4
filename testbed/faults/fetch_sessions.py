"""Fetch sessions, as faults see them: a Fetch of a session names only changed partitions (KIP-227).

So only the session has all topics of a Fetch, and the response leaves out partitions without news.
If a fault applies to such a partition, the partition is added to this response and the next.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.replication.fetch_session import FetchKey, FetchSession
from broker.replication.fetch_session_cache import FetchSessionCache
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.primitives import ZERO_UUID
from testbed.faults.answers import Concerns
from testbed.faults.subjects import NameOf


class FetchSessions:
    """The fetch sessions of one broker (`testbed.faults.faults.Sessions`)."""

    def __init__(self, cache: FetchSessionCache, name_of: NameOf) -> None:
        self._cache = cache
        self._name_of = name_of

    def topics(self, session_id: int) -> Iterator[str]:
        """Yield the topic name of each partition in a session; none if there is no such session.
        Topics that do not exist any more are left out."""
        session = self._session(session_id)
        for topic, _index in () if session is None else session.partitions:
            name = self._name(topic)
            if name is not None:
                yield name

    def show_all(self, response: FetchResponse, concerns: Concerns) -> None:
        """Add to a Fetch's response the session's partitions that it leaves out, of topics that
        `concerns` accepts. Mark all partitions of these topics as changed, so that the next
        response has them too."""
        session = self._session(response.session_id)
        if session is None:
            return
        shown = {_key(topic, data) for topic in response.responses for data in topic.partitions}
        for key, wanted in session.partitions.items():
            if not concerns(self._name(key[0])):
                continue
            session.mark_changed(wanted)
            if key not in shown:
                response.responses.append(_response_topic(key))

    def _session(self, session_id: int) -> FetchSession | None:
        """Return the session, None if the broker has dropped it."""
        return next((session for session in self._cache if session.session_id == session_id), None)

    def _name(self, topic: bytes | str) -> str | None:
        """Return the name of a topic, which is looked up if it is an id; None if there is no such
        topic."""
        return topic if isinstance(topic, str) else self._name_of(topic)


def _key(topic: FetchableTopicResponse, partition: PartitionData) -> FetchKey:
    """Return the key of a partition in its session: the topic's name, or its id if the response has
    ids, and the index."""
    return topic.topic or topic.topic_id, partition.partition_index


def _response_topic(key: FetchKey) -> FetchableTopicResponse:
    """Return a response's entry for one partition without records, with the topic name or id of
    `key`."""
    topic, index = key
    partitions = [PartitionData(index)]
    if isinstance(topic, str):
        return FetchableTopicResponse(topic, ZERO_UUID, partitions)
    return FetchableTopicResponse("", topic, partitions)
