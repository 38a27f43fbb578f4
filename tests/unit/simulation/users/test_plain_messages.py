"""Requests from dicts, answers as dicts, and what is said of a wrong one."""

from __future__ import annotations

import pytest

from protocol.api_keys import ApiKey
from protocol.messages.fetch import PartitionData
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from simulation.users.plain_messages import (
    WrongRequest,
    api_of,
    plain,
    request_of,
    version_of,
)


def test_an_answer_is_plain() -> None:
    told = plain(PartitionData(3, records=memoryview(b"ab")))
    assert told["partition_index"] == 3 and told["records"] == b"ab"
    assert plain(MetadataRequest([MetadataRequestTopic(name="a")]))["topics"][0]["name"] == "a"


def test_names_and_versions() -> None:
    assert api_of("CreateTopics") is api_of("CREATE_TOPICS") is ApiKey.CREATE_TOPICS
    assert version_of(ApiKey.METADATA, None) == 13 and version_of(ApiKey.METADATA, 4) == 4


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: api_of("CreatTopics"), "no API CreatTopics; did you mean CreateTopics?"),
        (lambda: version_of(ApiKey.METADATA, 99), "Metadata has versions 0 to 13, not 99"),
        (lambda: version_of(ApiKey.STOP_REPLICA, None), "StopReplica is not served"),
        (
            lambda: request_of(ApiKey.METADATA, {"topic": []}),
            "has no field topic; did you mean",
        ),
        (
            lambda: request_of(ApiKey.METADATA, {"topics": [{"nam": "a"}]}),
            "Metadata.topics has no field nam; did you mean name?",
        ),
        (lambda: request_of(ApiKey.METADATA, {"topics": ["a"]}), "is a struct with topic_id, name"),
    ],
)
def test_what_is_wrong_is_said(wrong: object, said: str) -> None:
    assert callable(wrong)
    with pytest.raises(WrongRequest, match=said.replace("?", r"\?")):
        wrong()
