"""Share sessions: the partitions that a member of a share group fetches from this broker.

    epoch 0: open │ 1, 2, …: fetch or acknowledge, one more each time │ -1: close

A session belongs to a connection, and ends with it. A connection is known until it closes, though
its session may be closed or replaced before: then the group may have lost its last member here.
Owns the epochs, the partitions of each
session, which of them an answer has to name, and the limit on sessions. Never knows records.
Follows Kafka's `ShareSession`, `ShareSessionCache` and `ShareSessionContext` (KIP-932).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from protocol.errors import ErrorCode

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_EPOCH_MAX = (1 << 31) - 1


class MemberKey(NamedTuple):
    """A member of a share group."""

    group_id: str
    member_id: str


class TopicIdPartition(NamedTuple):
    """A partition by its topic's id."""

    topic_id: bytes
    partition: int


class SessionRefusal(Exception):
    """A request whose session is refused, with the error code for the whole answer."""

    def __init__(self, error: ErrorCode) -> None:
        """Create a refusal."""
        super().__init__(error.name)
        self.error = error


class ShareSession:
    """The session of a member: its partitions, in the order in which they are read."""

    def __init__(
        self, key: MemberKey, partitions: Iterable[TopicIdPartition], connection: Hashable
    ) -> None:
        """Open a session of a connection; its next request has epoch 1."""
        self.key = key
        self.connection = connection
        self.epoch = 1
        self._partitions = dict.fromkeys(partitions, False)  # value: must the next answer name it?

    @property
    def partitions(self) -> list[TopicIdPartition]:
        """The partitions of the session."""
        return list(self._partitions)

    def advance(self, epoch: int) -> None:
        """Go on to the next epoch. Raises SessionRefusal if `epoch` is not the session's."""
        if epoch != self.epoch:
            raise SessionRefusal(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        self.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1

    def update(
        self, added: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]
    ) -> None:
        """Add and remove partitions. The next answer names those that are new."""
        for partition in added:
            self._partitions.setdefault(partition, True)
        for partition in forgotten:
            self._partitions.pop(partition, None)

    def must_name(self, partition: TopicIdPartition, *, has_records: bool, is_error: bool) -> bool:
        """Return whether an answer to a later Fetch has to name a partition; note that it does.

        A partition with records goes to the end, so that the others have their turn. After an
        error, the next answer names the partition once more, to show that the error is over.
        """
        is_due = self._partitions.get(partition, True)
        if partition not in self._partitions:
            return has_records or is_error or is_due
        if has_records:
            del self._partitions[partition]
        self._partitions[partition] = is_error
        return has_records or is_error or is_due


class ShareSessions:
    """The sessions of a broker, at most `limit` (`group.share.max.share.sessions`)."""

    def __init__(self, limit: int) -> None:
        """Create a cache without sessions."""
        self._limit = limit
        self._sessions: dict[MemberKey, ShareSession] = {}
        self._sizes: dict[str, int] = {}  # group id -> sessions of its members
        self._by_connection: dict[Hashable, ShareSession] = {}  # also closed sessions

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        """The number of partitions in all sessions."""
        return sum(len(session.partitions) for session in self._sessions.values())

    def members(self) -> list[MemberKey]:
        """Return the members that have a session."""
        return list(self._sessions)

    def find(self, key: MemberKey) -> ShareSession | None:
        """Return the session of a member, None if there is none."""
        return self._sessions.get(key)

    def get(self, key: MemberKey) -> ShareSession:
        """Return the session of a member. Raises SessionRefusal if there is none."""
        session = self._sessions.get(key)
        if session is None:
            raise SessionRefusal(ErrorCode.SHARE_SESSION_NOT_FOUND)
        return session

    def fetch(
        self,
        key: MemberKey,
        epoch: int,
        added: Iterable[TopicIdPartition],
        forgotten: Iterable[TopicIdPartition],
        connection: Hashable,
        *,
        has_acknowledgements: bool,
    ) -> ShareSession:
        """Return the session of a ShareFetch, opened or advanced.

        With FINAL_EPOCH the session stays as it is until `close`. Raises SessionRefusal:
        SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, INVALID_REQUEST for acknowledgements
        with INITIAL_EPOCH, SHARE_SESSION_LIMIT_REACHED.
        """
        if epoch == INITIAL_EPOCH:
            if has_acknowledgements:
                raise SessionRefusal(ErrorCode.INVALID_REQUEST)
            return self._open(key, added, connection)
        session = self.get(key)
        if epoch != FINAL_EPOCH:
            session.advance(epoch)
            session.update(added, forgotten)
        return session

    def acknowledge(self, key: MemberKey, epoch: int) -> ShareSession:
        """Return the session of a ShareAcknowledge, advanced unless the epoch is FINAL_EPOCH.

        Raises SessionRefusal: INVALID_SHARE_SESSION_EPOCH, also for INITIAL_EPOCH,
        SHARE_SESSION_NOT_FOUND.
        """
        if epoch == INITIAL_EPOCH:
            raise SessionRefusal(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session = self.get(key)
        if epoch != FINAL_EPOCH:
            session.advance(epoch)
        return session

    def _open(
        self, key: MemberKey, partitions: Iterable[TopicIdPartition], connection: Hashable
    ) -> ShareSession:
        """Open a session, instead of an earlier one of the member. What that had acquired stays
        acquired."""
        self._forget(self._sessions.get(key))
        if len(self._sessions) >= self._limit:
            raise SessionRefusal(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session = ShareSession(key, partitions, connection)
        self._sessions[key] = self._by_connection[connection] = session
        self._sizes[key.group_id] = self._sizes.get(key.group_id, 0) + 1
        return session

    def is_open(self, session: ShareSession) -> bool:
        """Return whether a session is neither closed nor replaced."""
        return self._sessions.get(session.key) is session

    def close(self, key: MemberKey) -> ShareSession:
        """Close the session of a member and return it; its records are to be released. Raises
        SessionRefusal if there is none."""
        session = self.get(key)
        self._forget(session)
        return session

    def connection_closed(self, connection: Hashable) -> tuple[ShareSession | None, bool]:
        """Forget a connection. Return the session that it opened last, None if it opened none, and
        whether that session was open until now: then it is closed."""
        session = self._by_connection.pop(connection, None)
        if session is None or not self.is_open(session):
            return session, False
        self._forget(session)
        return session, True

    def has_members(self, group_id: str) -> bool:
        """Return whether a member of the group has a session here."""
        return group_id in self._sizes

    def clear(self) -> None:
        """Forget all sessions: `share.version` became 0."""
        self._sessions.clear()
        self._sizes.clear()

    def _forget(self, session: ShareSession | None) -> None:
        if session is None:
            return
        del self._sessions[session.key]
        group_id = session.key.group_id
        self._sizes[group_id] -= 1
        if not self._sizes[group_id]:
            del self._sizes[group_id]
