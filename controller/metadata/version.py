"""The levels of `metadata.version`, and the record versions that each of them allows.

Owns: the numbers of names such as 4.0-IV1, and the choice of a record's version. The finalized
level ensures that a node writes only records that every node of the cluster can read.

Never: holds the finalized level (that is a record, see `controller.metadata.image`).

Follows KIP-584 (features) and KIP-778 (KRaft upgrades). Levels: KIP-900 (SCRAM, level 11),
delegation tokens (level 14), KIP-858 (directories, level 17), KIP-966 (eligible leader replicas,
level 23), KIP-1066 (cordoned directories, level 30), ranges of addresses in ACLs (level 32), the
unregistration of controllers (level 33). The numbers are those of Kafka's `MetadataVersion`.
"""

from __future__ import annotations

from protocol.messages import metadata_records as m

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELR_VERSION = "eligible.leader.replicas.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
SHARE_VERSION = "share.version"

MINIMUM_LEVEL = 7
"""The level 3.3-IV3, the lowest that Kafka 4.x opens."""
LATEST_LEVEL = 33
"""The level 4.4-IV2, with which directories are formatted."""

# fmt: off
_NAMES = (
    "3.3-IV3",
    "3.4-IV0",
    "3.5-IV0", "3.5-IV1", "3.5-IV2",
    "3.6-IV0", "3.6-IV1", "3.6-IV2",
    "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4",
    "3.8-IV0",
    "3.9-IV0",
    "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3",
    "4.1-IV0", "4.1-IV1",
    "4.2-IV0", "4.2-IV1",
    "4.3-IV0",
    "4.4-IV0", "4.4-IV1", "4.4-IV2",
)
# fmt: on

LEVELS = {name: MINIMUM_LEVEL + index for index, name in enumerate(_NAMES)}
"""The level of each name, as `kafka-features version-mapping` prints them."""

_MIGRATION = LEVELS["3.4-IV0"]
_DIRECTORIES = LEVELS["3.7-IV2"]
_ELR = LEVELS["4.0-IV1"]
_SCRAM = LEVELS["3.5-IV2"]
_TOKENS = LEVELS["3.6-IV2"]
_CORDONED = LEVELS["4.3-IV0"]
_ADDRESS_RANGES = LEVELS["4.4-IV1"]

_SINCE: dict[type, tuple[tuple[int, int], ...]] = {
    m.PartitionRecord: ((_ELR, 2), (_DIRECTORIES, 1)),
    m.PartitionChangeRecord: ((_ELR, 2), (_DIRECTORIES, 1)),
    m.RegisterBrokerRecord: ((_CORDONED, 4), (_DIRECTORIES, 3), (_MIGRATION, 2), (0, 1)),
}
"""The level from which a record is written in a version, latest first; else in version 0."""

_FORMAT_CHANGES = (7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33)
"""The levels that added records or fields; releases below them cannot read these."""


def level_name(level: int) -> str:
    """Return the name of a level, such as `4.3-IV0`; the number as text if no release has it."""
    if MINIMUM_LEVEL <= level <= LATEST_LEVEL:
        return _NAMES[level - MINIMUM_LEVEL]
    return str(level)


def release_level(text: str) -> int | None:
    """Return the level of a release of Kafka (`4.2`, `4.2.1`) or of a level's name (`4.2-IV0`);
    None for other texts. A release has the highest of its levels, and only its first two numbers
    count."""
    parts = text.split(".")
    name = ".".join(parts[:2]) if any(parts[2:]) else text
    of_release = [level for known, level in LEVELS.items() if known.startswith(f"{name}-")]
    return LEVELS.get(name) or max(of_release, default=None)


def changes_metadata(low: int, high: int) -> bool:
    """Return whether metadata of level `high` may have records or fields that level `low` lacks."""
    return any(low < level <= high for level in _FORMAT_CHANGES)


def has_directories(level: int) -> bool:
    """Return whether partition records name the directory of each replica (KIP-858)."""
    return level >= _DIRECTORIES


def has_scram(level: int) -> bool:
    """Return whether the metadata may contain SCRAM credentials (KIP-900)."""
    return level >= _SCRAM


def has_delegation_tokens(level: int) -> bool:
    """Return whether the metadata may contain delegation tokens."""
    return level >= _TOKENS


def has_address_ranges(level: int) -> bool:
    """Return whether the host of an ACL may be a range of addresses, such as 10.0.0.0/8."""
    return level >= _ADDRESS_RANGES


def record_version(record: object, level: int) -> int:
    """Return the version in which `record` is written at `level` of `metadata.version`."""
    if isinstance(record, m.BrokerRegistrationChangeRecord):
        # Kafka writes the lowest version that has the fields in use.
        if record.cordoned_log_dirs is not None:
            return 3
        if record.log_dirs:
            return 2
        return 1 if record.in_controlled_shutdown else 0
    fitting = (version for since, version in _SINCE.get(type(record), ()) if level >= since)
    return next(fitting, 0)
