"""The limit that applies to a client, and the precedence of a quota's eight forms.

    (user, client id)   (user, default)   user
    (default user, client id)   (default user, default)   default user
    client id   default client id

Owns the limits of one kind. The first of these forms that is set applies. Clients that share a
quota have the same tags: all clients of a user share its quota, all users of a client id share its.

Never measures anything. Follows KIP-55, KIP-124 and the default callback in Kafka's
`ClientQuotaManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

NO_NAME = ""
"""The name of a part that the entity does not have. No user or client id in a quota is empty."""
DEFAULT_NAME = None
"""The name of a part that means each name without a quota of its own."""


class ClientEntity(NamedTuple):
    """The user, client id or both that a quota is set for."""

    user: str | None = NO_NAME
    client_id: str | None = NO_NAME


class Tags(NamedTuple):
    """The user and client id whose usage is measured together; an empty name stands for all."""

    user: str
    client_id: str


CustomTags = tuple[tuple[str, str], ...]
"""The tags of a custom quota callback: names with values."""


class QuotaLimits(Protocol):
    """The limits of one kind of quota: from the metadata, or from `ottla.plugins.quotas`."""

    @property
    def any_set(self) -> bool:
        """Whether any client may be limited."""

    def tags_of(self, principal: str, client_id: str) -> Tags | CustomTags:
        """Return the tags under which a client is measured. `principal` includes its type."""

    def limit(self, tags: Tags | CustomTags) -> float | None:
        """Return the limit per second; None if there is none."""

    def put(self, entity: ClientEntity, limit: float | None) -> bool:
        """Set a limit, or remove it with None. Return whether any limit may have changed."""

    def changed_by_itself(self) -> bool:
        """Return whether limits have changed without a call of `put`."""


_USERS_CLIENT = 4
_USER = 2
_CLIENT = 1


class SetLimits:
    """The limits of one kind that are set in the metadata."""

    def __init__(self) -> None:
        self._limits: dict[ClientEntity, float] = {}
        self._forms = 0  # a bit for each form that is set

    @property
    def any_set(self) -> bool:
        return self._forms != 0

    @property
    def limits(self) -> Mapping[ClientEntity, float]:
        """All limits that are set."""
        return self._limits

    def put(self, entity: ClientEntity, limit: float | None) -> bool:
        """Set the entity's limit, or remove it with None. Return True if that changed anything."""
        before = self._limits.get(entity)
        if limit is None:
            self._limits.pop(entity, None)
        else:
            self._limits[entity] = limit
        if before != limit:
            self._forms = 0
            for entity_with_limit in self._limits:
                self._forms |= _form(entity_with_limit)
        return before != limit

    def changed_by_itself(self) -> bool:
        """Return False: only `put` changes these limits."""
        return False

    def tags_of(self, principal: str, client_id: str) -> Tags:
        """Return the tags of the client's most specific quota, under which its usage is measured.

        Without a quota, the client id alone is the tag.
        """
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
        """Return the most specific limit per second for these tags; None if no quota
        limits them."""
        assert isinstance(tags, Tags)
        user, client_id = tags
        users = (user, DEFAULT_NAME) if user else (NO_NAME,)
        clients = (client_id, DEFAULT_NAME) if client_id else (NO_NAME,)
        if not user and not client_id:
            return None
        for user_name in users:
            for client_name in clients:
                limit = self._limits.get(ClientEntity(user_name, client_name))
                if limit is not None:
                    return limit
        return None


def _form(entity: ClientEntity) -> int:
    """Return the bit of the form that this entity's quota has."""
    if entity.user == NO_NAME:
        return _CLIENT
    return _USER if entity.client_id == NO_NAME else _USERS_CLIENT
