"""What a request is about: its topics, groups and transactional ids, and whether a node sent it.

Follows the names of Kafka's messages, which are few: a test holds that no topic, group or
transactional id of a served request is overlooked. A topic that is named by its id alone is looked
up by whoever asks. Never changes a message: what is left of one is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from protocol.api_keys import ApiKey
from protocol.message import Message, replace
from protocol.primitives import ZERO_UUID
from testbed.sent_requests import NO_CLIENT

NameOf = Callable[[bytes], str | None]
"""A topic's id → its name; None where there is no such topic."""

TOPIC_LISTS = (
    "topics",
    "topic_data",
    "topic_partitions",
    "v3_and_below_topics",
    "forgotten_topics_data",
    "responses",
    "topic_results",
)
"""Fields that list what has a topic's name or id, or the names themselves."""
_TOPIC_NAMES = ("topic", "topic_name", "name")
_NESTED = ("groups", "transactions", "markers", "dirs", "cursor")
_TOPIC_RESOURCE = 2
_GROUP_RESOURCE = 32
_GROUP_KEY = 0
_TRANSACTION_KEY = 1
_GROUP_LISTS = ("groups", "groups_names", "group_ids")
_TRANSACTIONAL_IDS = ("transactional_id", "v3_and_below_transactional_id")

ONLY_NODES = frozenset(
    {
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.ALTER_PARTITION,
        ApiKey.ENVELOPE,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.UPDATE_RAFT_VOTER,
    }
)
"""What nodes ask each other; no client does."""


def topic_of(item: object, name_of: NameOf) -> str | None:
    """The topic that an item of a list of topics is about."""
    if isinstance(item, str):
        return item
    for field in _TOPIC_NAMES:
        name = getattr(item, field, None)
        if name:
            return str(name)
    topic_id = getattr(item, "topic_id", ZERO_UUID)
    return None if topic_id == ZERO_UUID else name_of(topic_id)


def topics_of(request: Message, name_of: NameOf) -> Iterator[str]:
    """The topics that a request names, some of them maybe twice."""
    for field in request.__slots__:
        value = getattr(request, field)
        if field == "topic_names":
            yield from value
        elif field in TOPIC_LISTS:
            found = (topic_of(one, name_of) for one in value or ())
            yield from (name for name in found if name is not None)
        elif field == "resources":
            yield from _named(value, _TOPIC_RESOURCE)
        elif field in _NESTED:
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, Message):
                    yield from topics_of(one, name_of)
    name = getattr(request, "topic_name", "")
    if name:
        yield name


def asks_for_all_topics(api: ApiKey, version: int, request: Message) -> bool:
    """Whether it is about every topic there is, and so names none."""
    if any(hasattr(request, one) and getattr(request, one) is None for one in TOPIC_LISTS):
        return True
    if api is ApiKey.OFFSET_FETCH:
        return any(one.topics is None for one in getattr(request, "groups", ()))
    all_if_none = api is ApiKey.DESCRIBE_TOPIC_PARTITIONS or (
        api is ApiKey.METADATA and version == 0
    )
    return all_if_none and getattr(request, "topics", None) in (None, [])


def groups_of(api: ApiKey, request: Message) -> Iterator[str]:
    """The groups that a request is about."""
    name = getattr(request, "group_id", "")
    if name:
        yield name
    for field in _GROUP_LISTS:
        for one in getattr(request, field, ()):
            yield one if isinstance(one, str) else one.group_id
    if api is ApiKey.FIND_COORDINATOR:
        yield from _keys(request, _GROUP_KEY)
    yield from _named(getattr(request, "resources", ()), _GROUP_RESOURCE)


def transactional_ids_of(api: ApiKey, request: Message) -> Iterator[str]:
    """The transactional ids that a request is about."""
    for field in _TRANSACTIONAL_IDS:
        name = getattr(request, field, None)
        if name:
            yield name
    yield from getattr(request, "transactional_ids", ())
    for one in getattr(request, "transactions", ()):
        yield one.transactional_id
    if api is ApiKey.FIND_COORDINATOR:
        yield from _keys(request, _TRANSACTION_KEY)


def is_of_a_node(api: ApiKey, request: Message, client_id: str) -> bool:
    """Whether a broker or a controller asks, and no client."""
    if api in ONLY_NODES or NO_CLIENT(client_id.encode()):
        return True
    if api is ApiKey.ADD_PARTITIONS_TO_TXN and getattr(request, "transactions", None):
        return True  # a leader that verifies, for producers of several transactional ids
    state = getattr(request, "replica_state", None)
    if state is not None and state.replica_id >= 0:
        return True
    return bool(getattr(request, "replica_id", -1) >= 0)


def split(
    request: Message, concerns: Callable[[str | None], bool], name_of: NameOf
) -> tuple[Message, Message | None]:
    """What a request asks of the topics that `concerns` means, and what is left of it: None where
    that is nothing, or where the request cannot be taken apart."""
    concerned: dict[str, list[Any]] = {}
    others: dict[str, list[Any]] = {}
    for field in request.__slots__:
        value = getattr(request, field)
        if field == "topic_names" or (field in TOPIC_LISTS and value):
            means = [concerns(topic_of(one, name_of)) for one in value]
            concerned[field] = [one for one, meant in zip(value, means, strict=True) if meant]
            others[field] = [one for one, meant in zip(value, means, strict=True) if not meant]
    if not any(concerned.values()) or not any(others.values()):
        return request, None
    return replace(request, **concerned), replace(request, **others)


def _named(resources: Iterable[Message] | None, kind: int) -> Iterator[str]:
    for one in resources or ():
        if getattr(one, "resource_type", None) == kind:
            yield getattr(one, "resource_name", "")


def _keys(request: Message, kind: int) -> Iterator[str]:
    if getattr(request, "key_type", None) == kind:
        key = getattr(request, "key", "")
        yield from [key] if key else getattr(request, "coordinator_keys", ())
