"""The messages of metadata-records.json. Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_U = Struct(">16s")
_Ub = Struct(">16sb")
_Uq = Struct(">16sq")
_T = Struct(">?")
_Hh = Struct(">Hh")
_b = Struct(">b")
_bb = Struct(">bb")
_dT = Struct(">d?")
_h = Struct(">h")
_hh = Struct(">hh")
_i = Struct(">i")
_iU = Struct(">i16s")
_iUT = Struct(">i16s?")
_iii = Struct(">iii")
_iq = Struct(">iq")
_iqq = Struct(">iqq")
_qqq = Struct(">qqq")


class AbortTransactionRecord(Message):
    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("reason",)

    def __init__(
        self,
        reason: str | None = None,
    ) -> None:
        self.reason = reason

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AbortTransactionRecord, int]:
        reason: str | None
        reason = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                reason, pos = p.read_compact_nullable_string(buf, pos)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(reason), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        tagged = []
        if self.reason is not None:
            value = p.MessageBuffer()
            value += p.compact_nullable_string(self.reason)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class AccessControlEntryRecord(Message):
    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("id", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(
        self,
        id: bytes = p.ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.id = id
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AccessControlEntryRecord, int]:
        id, resource_type = _Ub.unpack_from(buf, pos)
        pos += 17
        resource_name, pos = p.read_compact_string(buf, pos)
        (pattern_type,) = _b.unpack_from(buf, pos)
        pos += 1
        principal, pos = p.read_compact_string(buf, pos)
        host, pos = p.read_compact_string(buf, pos)
        operation, permission_type = _bb.unpack_from(buf, pos)
        pos += 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(id, resource_type, resource_name, pattern_type, principal, host, operation, permission_type), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _Ub.pack(self.id, self.resource_type)
        out += p.compact_string(self.resource_name)
        out += _b.pack(self.pattern_type)
        out += p.compact_string(self.principal)
        out += p.compact_string(self.host)
        out += _bb.pack(self.operation, self.permission_type)
        out += b"\0"


class BeginTransactionRecord(Message):
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name",)

    def __init__(
        self,
        name: str | None = None,
    ) -> None:
        self.name = name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[BeginTransactionRecord, int]:
        name: str | None
        name = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                name, pos = p.read_compact_nullable_string(buf, pos)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        tagged = []
        if self.name is not None:
            value = p.MessageBuffer()
            value += p.compact_nullable_string(self.name)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class BrokerRegistrationChangeRecord(Message):
    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[bytes] = NEW,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is NEW else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[BrokerRegistrationChangeRecord, int]:
        log_dirs: list[bytes]
        cordoned_log_dirs: list[bytes] | None
        broker_id, broker_epoch = _iq.unpack_from(buf, pos)
        pos += 12
        fenced = 0
        in_controlled_shutdown = 0
        log_dirs = []
        cordoned_log_dirs = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                (fenced,) = _b.unpack_from(buf, pos)
                pos += 1
            elif tag == 1 and version >= 1:
                (in_controlled_shutdown,) = _b.unpack_from(buf, pos)
                pos += 1
            elif tag == 2 and version >= 2:
                n, pos = p.read_compact_array_length(buf, pos, 16)
                if n < 0:
                    p.refuse_null_array()
                log_dirs = []
                for _ in range(n):
                    item_log_dirs = bytes(buf[pos : pos + 16])
                    pos += 16
                    log_dirs.append(item_log_dirs)
            elif tag == 3 and version == 3:
                n, pos = p.read_compact_array_length(buf, pos, 16)
                if n < 0:
                    cordoned_log_dirs = None
                else:
                    cordoned_log_dirs = []
                    for _ in range(n):
                        item_cordoned_log_dirs = bytes(buf[pos : pos + 16])
                        pos += 16
                        cordoned_log_dirs.append(item_cordoned_log_dirs)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(broker_id, broker_epoch, fenced, in_controlled_shutdown, log_dirs, cordoned_log_dirs), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _iq.pack(self.broker_id, self.broker_epoch)
        tagged = []
        if self.fenced != 0:
            value = p.MessageBuffer()
            value += _b.pack(self.fenced)
            tagged.append((0, value))
        if version >= 1 and self.in_controlled_shutdown != 0:
            value = p.MessageBuffer()
            value += _b.pack(self.in_controlled_shutdown)
            tagged.append((1, value))
        if version >= 2 and self.log_dirs:
            value = p.MessageBuffer()
            value += p.uvarint(len(self.log_dirs) + 1)
            for item_log_dirs in self.log_dirs:
                value += item_log_dirs
            tagged.append((2, value))
        if version == 3 and self.cordoned_log_dirs is not None:
            value = p.MessageBuffer()
            if self.cordoned_log_dirs is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.cordoned_log_dirs) + 1)
                for item_cordoned_log_dirs in self.cordoned_log_dirs:
                    value += item_cordoned_log_dirs
            tagged.append((3, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class ClearElrRecord(Message):
    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topic_name",)

    def __init__(
        self,
        topic_name: str = "",
    ) -> None:
        self.topic_name = topic_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ClearElrRecord, int]:
        topic_name, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += b"\0"


class EntityData(Message):
    __slots__ = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EntityData, int]:
        entity_name: str | None
        entity_type, pos = p.read_compact_string(buf, pos)
        entity_name, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(entity_type, entity_name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.entity_type)
        out += p.compact_nullable_string(self.entity_name)
        out += b"\0"


class ClientQuotaRecord(Message):
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("entity", "key", "value", "remove")

    def __init__(
        self,
        entity: list[EntityData] = NEW,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.entity = [] if entity is NEW else entity
        self.key = key
        self.value = value
        self.remove = remove

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ClientQuotaRecord, int]:
        entity: list[EntityData]
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        entity = []
        for _ in range(n):
            item_entity, pos = EntityData.read(buf, pos, version)
            entity.append(item_entity)
        key, pos = p.read_compact_string(buf, pos)
        value, remove = _dT.unpack_from(buf, pos)
        pos += 9
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(entity, key, value, remove), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.entity) + 1)
        for item_entity in self.entity:
            item_entity.write(out, version)
        out += p.compact_string(self.key)
        out += _dT.pack(self.value, self.remove)
        out += b"\0"


class ConfigRecord(Message):
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("resource_type", "resource_name", "name", "value")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConfigRecord, int]:
        value: str | None
        (resource_type,) = _b.unpack_from(buf, pos)
        pos += 1
        resource_name, pos = p.read_compact_string(buf, pos)
        name, pos = p.read_compact_string(buf, pos)
        value, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(resource_type, resource_name, name, value), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _b.pack(self.resource_type)
        out += p.compact_string(self.resource_name)
        out += p.compact_string(self.name)
        out += p.compact_nullable_string(self.value)
        out += b"\0"


class DelegationTokenRecord(Message):
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("owner", "requester", "renewers", "issue_timestamp", "max_timestamp", "expiration_timestamp", "token_id")

    def __init__(
        self,
        owner: str = "",
        requester: str = "",
        renewers: list[str] = NEW,
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
    ) -> None:
        self.owner = owner
        self.requester = requester
        self.renewers = [] if renewers is NEW else renewers
        self.issue_timestamp = issue_timestamp
        self.max_timestamp = max_timestamp
        self.expiration_timestamp = expiration_timestamp
        self.token_id = token_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DelegationTokenRecord, int]:
        renewers: list[str]
        owner, pos = p.read_compact_string(buf, pos)
        requester, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        renewers = []
        for _ in range(n):
            item_renewers, pos = p.read_compact_string(buf, pos)
            renewers.append(item_renewers)
        issue_timestamp, max_timestamp, expiration_timestamp = _qqq.unpack_from(buf, pos)
        pos += 24
        token_id, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(owner, requester, renewers, issue_timestamp, max_timestamp, expiration_timestamp, token_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.owner)
        out += p.compact_string(self.requester)
        out += p.uvarint(len(self.renewers) + 1)
        for item_renewers in self.renewers:
            out += p.compact_string(item_renewers)
        out += _qqq.pack(self.issue_timestamp, self.max_timestamp, self.expiration_timestamp)
        out += p.compact_string(self.token_id)
        out += b"\0"


class EndTransactionRecord(Message):
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EndTransactionRecord, int]:
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += b"\0"


class FeatureLevelRecord(Message):
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name", "feature_level")

    def __init__(
        self,
        name: str = "",
        feature_level: int = 0,
    ) -> None:
        self.name = name
        self.feature_level = feature_level

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FeatureLevelRecord, int]:
        name, pos = p.read_compact_string(buf, pos)
        (feature_level,) = _h.unpack_from(buf, pos)
        pos += 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, feature_level), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _h.pack(self.feature_level)
        out += b"\0"


class FenceBrokerRecord(Message):
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("id", "epoch")

    def __init__(
        self,
        id: int = 0,
        epoch: int = 0,
    ) -> None:
        self.id = id
        self.epoch = epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FenceBrokerRecord, int]:
        id, epoch = _iq.unpack_from(buf, pos)
        pos += 12
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(id, epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iq.pack(self.id, self.epoch)
        out += b"\0"


class NoOpRecord(Message):
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[NoOpRecord, int]:
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += b"\0"


class PartitionChangeRecord(Message):
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("partition_id", "topic_id", "isr", "leader", "replicas", "removing_replicas", "adding_replicas", "leader_recovery_state", "directories", "eligible_leader_replicas", "last_known_elr")

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: bytes = p.ZERO_UUID,
        isr: list[int] | None = None,
        leader: int = -2,
        replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader_recovery_state: int = -1,
        directories: list[bytes] | None = None,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.isr = isr
        self.leader = leader
        self.replicas = replicas
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.directories = directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionChangeRecord, int]:
        isr: list[int] | None
        replicas: list[int] | None
        removing_replicas: list[int] | None
        adding_replicas: list[int] | None
        directories: list[bytes] | None
        eligible_leader_replicas: list[int] | None
        last_known_elr: list[int] | None
        partition_id, topic_id = _iU.unpack_from(buf, pos)
        pos += 20
        isr = None
        leader = -2
        replicas = None
        removing_replicas = None
        adding_replicas = None
        leader_recovery_state = -1
        directories = None
        eligible_leader_replicas = None
        last_known_elr = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    isr = None
                else:
                    isr = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            elif tag == 1:
                (leader,) = _i.unpack_from(buf, pos)
                pos += 4
            elif tag == 2:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    replicas = None
                else:
                    replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            elif tag == 3:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    removing_replicas = None
                else:
                    removing_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            elif tag == 4:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    adding_replicas = None
                else:
                    adding_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            elif tag == 5:
                (leader_recovery_state,) = _b.unpack_from(buf, pos)
                pos += 1
            elif tag == 8 and version >= 1:
                n, pos = p.read_compact_array_length(buf, pos, 16)
                if n < 0:
                    directories = None
                else:
                    directories = []
                    for _ in range(n):
                        item_directories = bytes(buf[pos : pos + 16])
                        pos += 16
                        directories.append(item_directories)
            elif tag == 6 and version == 2:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    eligible_leader_replicas = None
                else:
                    eligible_leader_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            elif tag == 7 and version == 2:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    last_known_elr = None
                else:
                    last_known_elr = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(partition_id, topic_id, isr, leader, replicas, removing_replicas, adding_replicas, leader_recovery_state, directories, eligible_leader_replicas, last_known_elr), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _iU.pack(self.partition_id, self.topic_id)
        tagged = []
        if self.isr is not None:
            value = p.MessageBuffer()
            if self.isr is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.isr) + 1)
                value += Struct(f">{len(self.isr)}i").pack(*self.isr)
            tagged.append((0, value))
        if self.leader != -2:
            value = p.MessageBuffer()
            value += _i.pack(self.leader)
            tagged.append((1, value))
        if self.replicas is not None:
            value = p.MessageBuffer()
            if self.replicas is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.replicas) + 1)
                value += Struct(f">{len(self.replicas)}i").pack(*self.replicas)
            tagged.append((2, value))
        if self.removing_replicas is not None:
            value = p.MessageBuffer()
            if self.removing_replicas is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.removing_replicas) + 1)
                value += Struct(f">{len(self.removing_replicas)}i").pack(*self.removing_replicas)
            tagged.append((3, value))
        if self.adding_replicas is not None:
            value = p.MessageBuffer()
            if self.adding_replicas is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.adding_replicas) + 1)
                value += Struct(f">{len(self.adding_replicas)}i").pack(*self.adding_replicas)
            tagged.append((4, value))
        if self.leader_recovery_state != -1:
            value = p.MessageBuffer()
            value += _b.pack(self.leader_recovery_state)
            tagged.append((5, value))
        if version == 2 and self.eligible_leader_replicas is not None:
            value = p.MessageBuffer()
            if self.eligible_leader_replicas is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.eligible_leader_replicas) + 1)
                value += Struct(f">{len(self.eligible_leader_replicas)}i").pack(*self.eligible_leader_replicas)
            tagged.append((6, value))
        if version == 2 and self.last_known_elr is not None:
            value = p.MessageBuffer()
            if self.last_known_elr is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.last_known_elr) + 1)
                value += Struct(f">{len(self.last_known_elr)}i").pack(*self.last_known_elr)
            tagged.append((7, value))
        if version >= 1 and self.directories is not None:
            value = p.MessageBuffer()
            if self.directories is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.directories) + 1)
                for item_directories in self.directories:
                    value += item_directories
            tagged.append((8, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class PartitionRecord(Message):
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("partition_id", "topic_id", "replicas", "isr", "removing_replicas", "adding_replicas", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch", "directories", "eligible_leader_replicas", "last_known_elr")

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: bytes = p.ZERO_UUID,
        replicas: list[int] = NEW,
        isr: list[int] = NEW,
        removing_replicas: list[int] = NEW,
        adding_replicas: list[int] = NEW,
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[bytes] = NEW,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas = [] if replicas is NEW else replicas
        self.isr = [] if isr is NEW else isr
        self.removing_replicas = [] if removing_replicas is NEW else removing_replicas
        self.adding_replicas = [] if adding_replicas is NEW else adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = [] if directories is NEW else directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionRecord, int]:
        replicas: list[int]
        isr: list[int]
        removing_replicas: list[int]
        adding_replicas: list[int]
        directories: list[bytes]
        eligible_leader_replicas: list[int] | None
        last_known_elr: list[int] | None
        partition_id, topic_id = _iU.unpack_from(buf, pos)
        pos += 20
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        isr = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        removing_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        adding_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        leader, leader_epoch, partition_epoch = _iii.unpack_from(buf, pos)
        pos += 12
        if version >= 1:
            n, pos = p.read_compact_array_length(buf, pos, 16)
            if n < 0:
                p.refuse_null_array()
            directories = []
            for _ in range(n):
                item_directories = bytes(buf[pos : pos + 16])
                pos += 16
                directories.append(item_directories)
        else:
            directories = []
        leader_recovery_state = 0
        eligible_leader_replicas = None
        last_known_elr = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                (leader_recovery_state,) = _b.unpack_from(buf, pos)
                pos += 1
            elif tag == 1 and version == 2:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    eligible_leader_replicas = None
                else:
                    eligible_leader_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            elif tag == 2 and version == 2:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    last_known_elr = None
                else:
                    last_known_elr = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(partition_id, topic_id, replicas, isr, removing_replicas, adding_replicas, leader, leader_recovery_state, leader_epoch, partition_epoch, directories, eligible_leader_replicas, last_known_elr), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _iU.pack(self.partition_id, self.topic_id)
        out += p.uvarint(len(self.replicas) + 1)
        out += Struct(f">{len(self.replicas)}i").pack(*self.replicas)
        out += p.uvarint(len(self.isr) + 1)
        out += Struct(f">{len(self.isr)}i").pack(*self.isr)
        out += p.uvarint(len(self.removing_replicas) + 1)
        out += Struct(f">{len(self.removing_replicas)}i").pack(*self.removing_replicas)
        out += p.uvarint(len(self.adding_replicas) + 1)
        out += Struct(f">{len(self.adding_replicas)}i").pack(*self.adding_replicas)
        out += _iii.pack(self.leader, self.leader_epoch, self.partition_epoch)
        if version >= 1:
            out += p.uvarint(len(self.directories) + 1)
            for item_directories in self.directories:
                out += item_directories
        tagged = []
        if self.leader_recovery_state != 0:
            value = p.MessageBuffer()
            value += _b.pack(self.leader_recovery_state)
            tagged.append((0, value))
        if version == 2 and self.eligible_leader_replicas is not None:
            value = p.MessageBuffer()
            if self.eligible_leader_replicas is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.eligible_leader_replicas) + 1)
                value += Struct(f">{len(self.eligible_leader_replicas)}i").pack(*self.eligible_leader_replicas)
            tagged.append((1, value))
        if version == 2 and self.last_known_elr is not None:
            value = p.MessageBuffer()
            if self.last_known_elr is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.last_known_elr) + 1)
                value += Struct(f">{len(self.last_known_elr)}i").pack(*self.last_known_elr)
            tagged.append((2, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class ProducerIdsRecord(Message):
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "next_producer_id")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        next_producer_id: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.next_producer_id = next_producer_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ProducerIdsRecord, int]:
        broker_id, broker_epoch, next_producer_id = _iqq.unpack_from(buf, pos)
        pos += 20
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id, broker_epoch, next_producer_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iqq.pack(self.broker_id, self.broker_epoch, self.next_producer_id)
        out += b"\0"


class BrokerEndpoint(Message):
    __slots__ = ("name", "host", "port", "security_protocol")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[BrokerEndpoint, int]:
        name, pos = p.read_compact_string(buf, pos)
        host, pos = p.read_compact_string(buf, pos)
        port, security_protocol = _Hh.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, host, port, security_protocol), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.compact_string(self.host)
        out += _Hh.pack(self.port, self.security_protocol)
        out += b"\0"


class BrokerFeature(Message):
    __slots__ = ("name", "min_supported_version", "max_supported_version")

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[BrokerFeature, int]:
        name, pos = p.read_compact_string(buf, pos)
        min_supported_version, max_supported_version = _hh.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, min_supported_version, max_supported_version), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _hh.pack(self.min_supported_version, self.max_supported_version)
        out += b"\0"


class RegisterBrokerRecord(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "is_migrating_zk_broker", "incarnation_id", "broker_epoch", "end_points", "features", "rack", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")

    def __init__(
        self,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: bytes = p.ZERO_UUID,
        broker_epoch: int = 0,
        end_points: list[BrokerEndpoint] = NEW,
        features: list[BrokerFeature] = NEW,
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: list[bytes] = NEW,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.incarnation_id = incarnation_id
        self.broker_epoch = broker_epoch
        self.end_points = [] if end_points is NEW else end_points
        self.features = [] if features is NEW else features
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is NEW else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[RegisterBrokerRecord, int]:
        end_points: list[BrokerEndpoint]
        features: list[BrokerFeature]
        rack: str | None
        log_dirs: list[bytes]
        cordoned_log_dirs: list[bytes] | None
        (broker_id,) = _i.unpack_from(buf, pos)
        pos += 4
        if version >= 2:
            (is_migrating_zk_broker,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            is_migrating_zk_broker = False
        incarnation_id, broker_epoch = _Uq.unpack_from(buf, pos)
        pos += 24
        n, pos = p.read_compact_array_length(buf, pos, 7)
        if n < 0:
            p.refuse_null_array()
        end_points = []
        for _ in range(n):
            item_end_points, pos = BrokerEndpoint.read(buf, pos, version)
            end_points.append(item_end_points)
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        features = []
        for _ in range(n):
            item_features, pos = BrokerFeature.read(buf, pos, version)
            features.append(item_features)
        rack, pos = p.read_compact_nullable_string(buf, pos)
        (fenced,) = _T.unpack_from(buf, pos)
        pos += 1
        if version >= 1:
            (in_controlled_shutdown,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            in_controlled_shutdown = False
        log_dirs = []
        cordoned_log_dirs = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0 and version >= 3:
                n, pos = p.read_compact_array_length(buf, pos, 16)
                if n < 0:
                    p.refuse_null_array()
                log_dirs = []
                for _ in range(n):
                    item_log_dirs = bytes(buf[pos : pos + 16])
                    pos += 16
                    log_dirs.append(item_log_dirs)
            elif tag == 1 and version == 4:
                n, pos = p.read_compact_array_length(buf, pos, 16)
                if n < 0:
                    cordoned_log_dirs = None
                else:
                    cordoned_log_dirs = []
                    for _ in range(n):
                        item_cordoned_log_dirs = bytes(buf[pos : pos + 16])
                        pos += 16
                        cordoned_log_dirs.append(item_cordoned_log_dirs)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(broker_id, is_migrating_zk_broker, incarnation_id, broker_epoch, end_points, features, rack, fenced, in_controlled_shutdown, log_dirs, cordoned_log_dirs), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _i.pack(self.broker_id)
        if version >= 2:
            out += _T.pack(self.is_migrating_zk_broker)
        out += _Uq.pack(self.incarnation_id, self.broker_epoch)
        out += p.uvarint(len(self.end_points) + 1)
        for item_end_points in self.end_points:
            item_end_points.write(out, version)
        out += p.uvarint(len(self.features) + 1)
        for item_features in self.features:
            item_features.write(out, version)
        out += p.compact_nullable_string(self.rack)
        out += _T.pack(self.fenced)
        if version >= 1:
            out += _T.pack(self.in_controlled_shutdown)
        tagged = []
        if version >= 3 and self.log_dirs:
            value = p.MessageBuffer()
            value += p.uvarint(len(self.log_dirs) + 1)
            for item_log_dirs in self.log_dirs:
                value += item_log_dirs
            tagged.append((0, value))
        if version == 4 and self.cordoned_log_dirs is not None:
            value = p.MessageBuffer()
            if self.cordoned_log_dirs is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.cordoned_log_dirs) + 1)
                for item_cordoned_log_dirs in self.cordoned_log_dirs:
                    value += item_cordoned_log_dirs
            tagged.append((1, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class ControllerEndpoint(Message):
    __slots__ = ("name", "host", "port", "security_protocol")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ControllerEndpoint, int]:
        name, pos = p.read_compact_string(buf, pos)
        host, pos = p.read_compact_string(buf, pos)
        port, security_protocol = _Hh.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, host, port, security_protocol), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.compact_string(self.host)
        out += _Hh.pack(self.port, self.security_protocol)
        out += b"\0"


class ControllerFeature(Message):
    __slots__ = ("name", "min_supported_version", "max_supported_version")

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ControllerFeature, int]:
        name, pos = p.read_compact_string(buf, pos)
        min_supported_version, max_supported_version = _hh.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, min_supported_version, max_supported_version), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _hh.pack(self.min_supported_version, self.max_supported_version)
        out += b"\0"


class RegisterControllerRecord(Message):
    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("controller_id", "incarnation_id", "zk_migration_ready", "end_points", "features")

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = p.ZERO_UUID,
        zk_migration_ready: bool = False,
        end_points: list[ControllerEndpoint] = NEW,
        features: list[ControllerFeature] = NEW,
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.end_points = [] if end_points is NEW else end_points
        self.features = [] if features is NEW else features

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[RegisterControllerRecord, int]:
        end_points: list[ControllerEndpoint]
        features: list[ControllerFeature]
        controller_id, incarnation_id, zk_migration_ready = _iUT.unpack_from(buf, pos)
        pos += 21
        n, pos = p.read_compact_array_length(buf, pos, 7)
        if n < 0:
            p.refuse_null_array()
        end_points = []
        for _ in range(n):
            item_end_points, pos = ControllerEndpoint.read(buf, pos, version)
            end_points.append(item_end_points)
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        features = []
        for _ in range(n):
            item_features, pos = ControllerFeature.read(buf, pos, version)
            features.append(item_features)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(controller_id, incarnation_id, zk_migration_ready, end_points, features), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iUT.pack(self.controller_id, self.incarnation_id, self.zk_migration_ready)
        out += p.uvarint(len(self.end_points) + 1)
        for item_end_points in self.end_points:
            item_end_points.write(out, version)
        out += p.uvarint(len(self.features) + 1)
        for item_features in self.features:
            item_features.write(out, version)
        out += b"\0"


class RemoveAccessControlEntryRecord(Message):
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("id",)

    def __init__(
        self,
        id: bytes = p.ZERO_UUID,
    ) -> None:
        self.id = id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[RemoveAccessControlEntryRecord, int]:
        (id,) = _U.unpack_from(buf, pos)
        pos += 16
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.id)
        out += b"\0"


class RemoveDelegationTokenRecord(Message):
    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("token_id",)

    def __init__(
        self,
        token_id: str = "",
    ) -> None:
        self.token_id = token_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[RemoveDelegationTokenRecord, int]:
        token_id, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(token_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.token_id)
        out += b"\0"


class RemoveTopicRecord(Message):
    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topic_id",)

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
    ) -> None:
        self.topic_id = topic_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[RemoveTopicRecord, int]:
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += b"\0"


class RemoveUserScramCredentialRecord(Message):
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name", "mechanism")

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[RemoveUserScramCredentialRecord, int]:
        name, pos = p.read_compact_string(buf, pos)
        (mechanism,) = _b.unpack_from(buf, pos)
        pos += 1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, mechanism), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _b.pack(self.mechanism)
        out += b"\0"


class TopicRecord(Message):
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name", "topic_id")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = p.ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicRecord, int]:
        name, pos = p.read_compact_string(buf, pos)
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, topic_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _U.pack(self.topic_id)
        out += b"\0"


class UnfenceBrokerRecord(Message):
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("id", "epoch")

    def __init__(
        self,
        id: int = 0,
        epoch: int = 0,
    ) -> None:
        self.id = id
        self.epoch = epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UnfenceBrokerRecord, int]:
        id, epoch = _iq.unpack_from(buf, pos)
        pos += 12
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(id, epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iq.pack(self.id, self.epoch)
        out += b"\0"


class UnregisterBrokerRecord(Message):
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UnregisterBrokerRecord, int]:
        broker_id, broker_epoch = _iq.unpack_from(buf, pos)
        pos += 12
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id, broker_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iq.pack(self.broker_id, self.broker_epoch)
        out += b"\0"


class UnregisterControllerRecord(Message):
    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("controller_id",)

    def __init__(
        self,
        controller_id: int = 0,
    ) -> None:
        self.controller_id = controller_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UnregisterControllerRecord, int]:
        (controller_id,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(controller_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.controller_id)
        out += b"\0"


class UserScramCredentialRecord(Message):
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name", "mechanism", "salt", "stored_key", "server_key", "iterations")

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UserScramCredentialRecord, int]:
        name, pos = p.read_compact_string(buf, pos)
        (mechanism,) = _b.unpack_from(buf, pos)
        pos += 1
        salt, pos = p.read_compact_bytes(buf, pos)
        stored_key, pos = p.read_compact_bytes(buf, pos)
        server_key, pos = p.read_compact_bytes(buf, pos)
        (iterations,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, mechanism, salt, stored_key, server_key, iterations), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _b.pack(self.mechanism)
        p.write_compact_records(out, self.salt)
        p.write_compact_records(out, self.stored_key)
        p.write_compact_records(out, self.server_key)
        out += _i.pack(self.iterations)
        out += b"\0"


class ZkMigrationStateRecord(Message):
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("zk_migration_state",)

    def __init__(
        self,
        zk_migration_state: int = 0,
    ) -> None:
        self.zk_migration_state = zk_migration_state

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ZkMigrationStateRecord, int]:
        (zk_migration_state,) = _b.unpack_from(buf, pos)
        pos += 1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(zk_migration_state), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _b.pack(self.zk_migration_state)
        out += b"\0"
