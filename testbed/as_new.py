"""What a broker had when it was new, beside its topics: what a reset brings it back to.

Owns that, as it was told at the broker's first start: when a test starts it again, what the test
has changed is still there. Never changes anything: `testbed.operations.reset` asks for it.
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
"""Its name, and a mechanism of SCRAM."""


@dataclass(frozen=True, slots=True)
class AsNew:
    """See the module."""

    configs: Mapping[ConfigResource, Mapping[str, str]]
    """But for those of topics."""
    users: Mapping[User, str]
    """With what tells another password, and does not tell the password."""
    acls: frozenset[Acl]
    tokens: frozenset[str]
    features: Mapping[str, int]

    @classmethod
    def of(cls, image: MetadataImage) -> AsNew:
        """What there is."""
        return cls(
            {
                one: dict(keys)
                for one, keys in image.configs.items()
                if one[0] != ResourceType.TOPIC
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
    def from_channel(cls, told: Mapping[str, Json]) -> AsNew:
        """What `to_channel` has made."""
        return cls(
            {(kind, name): keys for kind, name, keys in told["configs"]},
            {(name, mechanism): digest for name, mechanism, digest in told["users"]},
            frozenset(Acl(*one) for one in told["acls"]),
            frozenset(told["tokens"]),
            told["features"],
        )

    def to_channel(self) -> dict[str, Json]:
        """For whoever starts the broker again."""
        return {
            "configs": [[*one, dict(keys)] for one, keys in self.configs.items()],
            "users": [[*user, digest] for user, digest in self.users.items()],
            "acls": [list(one) for one in self.acls],
            "tokens": list(self.tokens),
            "features": dict(self.features),
        }

    def irrevocable(self, now: AsNew) -> list[str]:
        """What no request can bring back, in words."""
        found = []
        if self.features and self.features != now.features:
            found.append("feature levels were changed")
        if any(now.users.get(user) != digest for user, digest in self.users.items()):
            found.append("a user that was there at first was changed")
        if self.tokens != now.tokens:
            found.append("there are other delegation tokens than at first")
        return found


class LogLevels:
    """Those of this process's loggers, which a client may set (KIP-412)."""

    def __init__(self) -> None:
        self._levels = {name: one.level for name, one in _loggers().items()}

    def restore(self) -> None:
        """As they were."""
        for name, one in _loggers().items():
            level = self._levels.get(name, logging.NOTSET)
            if one.level != level:
                one.setLevel(level)


def _loggers() -> dict[str, logging.Logger]:
    named = logging.root.manager.loggerDict.items()
    return {"root": logging.root} | {
        name: one for name, one in named if isinstance(one, logging.Logger)
    }


def _digest(credential: ScramCredential) -> str:
    return hashlib.sha256(credential.salt + credential.stored_key).hexdigest()
