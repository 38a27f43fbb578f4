"""Which quota counts for a client: what is set of one kind, and the precedence of its eight forms.

    (user, client id)   (user, default)   user
    (default user, client id)   (default user, default)   default user
    client id   default client id

Owns what is set. The first of these that is set counts. Clients that a quota counts for together
have the same tags: a quota of a user is one for all its clients, one of a client id for all users.

Never measures anything. Follows KIP-55, KIP-124 and the default callback in Kafka's
`ClientQuotaManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

NO_NAME = ""
"""The entity does not have this part. No user or client of a quota has an empty name."""
DEFAULT_NAME = None
"""The part stands for each name that has no quota of its own."""


class ClientEntity(NamedTuple):
    """Whom a quota is set for."""

    user: str | None = NO_NAME
    client_id: str | None = NO_NAME


class Tags(NamedTuple):
    """What is measured together; a name that is empty does not matter."""

    user: str
    client_id: str


CustomTags = tuple[tuple[str, str], ...]
"""Those of somebody's own rule: names with values."""


class Limits(Protocol):
    """Whose quota is how much: what is set, or somebody's own rule (`ottla.plugins.quotas`)."""

    @property
    def any_set(self) -> bool:
        """Whether anybody might be limited."""

    def tags_of(self, principal: str, client_id: str) -> Tags | CustomTags:
        """What a client's use is added to. `principal` with its type."""

    def limit(self, tags: Tags | CustomTags) -> float | None:
        """A second; None: no limit."""

    def put(self, entity: ClientEntity, limit: float | None) -> bool:
        """Set a quota, or with None remove it. Whether limits may be others now."""

    def changed_by_itself(self) -> bool:
        """Whether limits are others now for a reason of their own."""


_USERS_CLIENT = 4
_USER = 2
_CLIENT = 1


class SetLimits:
    """Those that are set in the metadata, of one kind."""

    def __init__(self) -> None:
        self._limits: dict[ClientEntity, float] = {}
        self._forms = 0  # which forms are set: bits

    @property
    def any_set(self) -> bool:
        return self._forms != 0

    @property
    def limits(self) -> Mapping[ClientEntity, float]:
        """All that are set."""
        return self._limits

    def put(self, entity: ClientEntity, limit: float | None) -> bool:
        before = self._limits.get(entity)
        if limit is None:
            self._limits.pop(entity, None)
        else:
            self._limits[entity] = limit
        if before != limit:
            self._forms = 0
            for one in self._limits:
                self._forms |= _form(one)
        return before != limit

    def changed_by_itself(self) -> bool:
        return False

    def tags_of(self, principal: str, client_id: str) -> Tags:
        user = principal.partition(":")[2]
        forms = self._forms
        if forms in (0, _CLIENT):
            return Tags(NO_NAME, client_id)
        if forms == _USER:
            return Tags(user, NO_NAME)
        if forms == _USERS_CLIENT:
            return Tags(user, client_id)
        limits = self._limits
        for name in (user, DEFAULT_NAME):
            if (name, client_id) in limits or (name, DEFAULT_NAME) in limits:
                return Tags(user, client_id)
            if (name, NO_NAME) in limits:
                return Tags(user, NO_NAME)
        return Tags(NO_NAME, client_id)

    def limit(self, tags: Tags | CustomTags) -> float | None:
        assert isinstance(tags, Tags)
        user, client_id = tags
        users = (user, DEFAULT_NAME) if user else (NO_NAME,)
        clients = (client_id, DEFAULT_NAME) if client_id else (NO_NAME,)
        if not user and not client_id:
            return None
        for one in users:
            for other in clients:
                found = self._limits.get(ClientEntity(one, other))
                if found is not None:
                    return found
        return None


def _form(entity: ClientEntity) -> int:
    if entity.user == NO_NAME:
        return _CLIENT
    return _USER if entity.client_id == NO_NAME else _USERS_CLIENT
