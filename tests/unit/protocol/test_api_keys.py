from __future__ import annotations

import pytest

from protocol.api_keys import STABLE_VERSIONS, ApiKey, messages_of

# What a broker of Kafka says of itself in ApiVersions: key → (name, oldest, latest).
KAFKAS = {
    0: ("PRODUCE", 3, 13),
    1: ("FETCH", 4, 18),
    2: ("LIST_OFFSETS", 1, 11),
    3: ("METADATA", 0, 13),
    9: ("OFFSET_FETCH", 1, 10),
    11: ("JOIN_GROUP", 0, 9),
    18: ("API_VERSIONS", 0, 5),
    19: ("CREATE_TOPICS", 2, 7),
    22: ("INIT_PRODUCER_ID", 0, 5),
    68: ("CONSUMER_GROUP_HEARTBEAT", 0, 1),
    75: ("DESCRIBE_TOPIC_PARTITIONS", 0, 0),
    92: ("DELETE_SHARE_GROUP_OFFSETS", 0, 0),
}
# APIs of the ZooKeeper days: their keys stay taken, they have no versions any more.
RETIRED = {
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
}


@pytest.mark.parametrize("key", KAFKAS)
def test_keys_and_versions_are_kafkas(key: int) -> None:
    name, oldest, latest = KAFKAS[key]
    assert ApiKey(key).name == name
    assert STABLE_VERSIONS[ApiKey(key)] == (oldest, latest)


def test_every_key_from_0_to_94_has_one_name() -> None:
    assert sorted(ApiKey) == list(range(95))
    assert len(ApiKey.__members__) == len(ApiKey)


def test_every_api_has_versions_unless_it_is_retired() -> None:
    assert set(ApiKey) - set(STABLE_VERSIONS) == RETIRED
    assert [key for key, (oldest, latest) in STABLE_VERSIONS.items() if oldest > latest] == []


@pytest.mark.parametrize("key", STABLE_VERSIONS, ids=lambda key: key.name)
def test_messages_of_an_api_know_its_key_and_its_versions(key: ApiKey) -> None:
    """The definitions may know a later version, one that is not stable yet."""
    of = messages_of(key)
    oldest, latest = STABLE_VERSIONS[key]
    for message, kind in ((of.request, "Request"), (of.response, "Response")):
        assert key == message.API_KEY
        assert message.MIN_VERSION <= oldest <= latest <= message.MAX_VERSION
        assert message.__name__.endswith(kind)
