"""The state of a broker at its first start, without its topics: what a reset restores.

Owns that state as it was at the *first* start, because changes that a test made are still there
when the test starts the broker again. Never changes anything: `testbed.operations.reset` does.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from controller.metadata.acl import Acl
from controller.metadata.image import ConfigResource, MetadataImage, ResourceType
from controller.metadata.scram_credential import ScramCredential
from ottla.testing.frames import Json

User = tuple[str, int]
"""A user's name, and the number of a SCRAM mechanism."""


@dataclass(frozen=True, slots=True)
class InitialState:
    """A broker's state at its first start, or now, to be compared with that."""

    configs: Mapping[ConfigResource, Mapping[str, str]]
    """The set configs of all resources but topics."""
    users: Mapping[User, str]
    """By user, a digest that changes with the password and does not reveal it."""
    acls: frozenset[Acl]
    tokens: frozenset[str]
    features: Mapping[str, int]

    @classmethod
    def of(cls, image: MetadataImage) -> InitialState:
        """Return the state in a metadata image: configs but those of topics, SCRAM users, ACLs,
        delegation tokens and feature levels."""
        return cls(
            {
                resource: dict(keys)
                for resource, keys in image.configs.items()
                if resource[0] != ResourceType.TOPIC
            },
            {
                (name, int(mechanism)): _digest(credential)
                for name, credentials in image.scram.users.items()
                for mechanism, credential in credentials.items()
            },
            frozenset(image.acls.by_id.values()),
            frozenset(image.tokens),
            dict(image.features),
        )

    @classmethod
    def from_channel(cls, state: Mapping[str, Json]) -> InitialState:
        """Return the state that `to_channel` has written as JSON values."""
        return cls(
            {(kind, name): keys for kind, name, keys in state["configs"]},
            {(name, mechanism): digest for name, mechanism, digest in state["users"]},
            frozenset(Acl(*fields) for fields in state["acls"]),
            frozenset(state["tokens"]),
            state["features"],
        )

    def to_channel(self) -> dict[str, Json]:
        """Return the state as JSON values, for a later start of this broker."""
        return {
            "configs": [[*resource, dict(keys)] for resource, keys in self.configs.items()],
            "users": [[*user, digest] for user, digest in self.users.items()],
            "acls": [list(acl) for acl in self.acls],
            "tokens": list(self.tokens),
            "features": dict(self.features),
        }

    def irrevocable(self, now: InitialState) -> list[str]:
        """Return the changes between this state and `now` that no request can undo, in words; empty
        if there are none."""
        changes = []
        if self.features and self.features != now.features:
            changes.append("feature levels were changed")
        if any(now.users.get(user) != digest for user, digest in self.users.items()):
            changes.append("a user that was there at first was changed")
        if self.tokens != now.tokens:
            changes.append("there are other delegation tokens than at first")
        return changes


class LogLevels:
    """The levels of this process's loggers, which a client may set (KIP-412)."""

    def __init__(self) -> None:
        """Record the present level of each logger, for `restore`."""
        self._levels = {name: logger.level for name, logger in _loggers().items()}

    def restore(self) -> None:
        """Set all loggers back to the levels that they had at the creation of this object; loggers
        created since get NOTSET."""
        for name, logger in _loggers().items():
            level = self._levels.get(name, logging.NOTSET)
            if logger.level != level:
                logger.setLevel(level)


def _loggers() -> dict[str, logging.Logger]:
    """Return all loggers of this process by name; the root logger is "root"."""
    named = logging.root.manager.loggerDict.items()
    return {"root": logging.root} | {
        name: logger for name, logger in named if isinstance(logger, logging.Logger)
    }


def _digest(credential: ScramCredential) -> str:
    """Return a hexadecimal digest that differs if the password differs, and does not reveal it."""
    return hashlib.sha256(credential.salt + credential.stored_key).hexdigest()
