from __future__ import annotations

import pytest

from protocol.message import as_dict, replace
from protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.metadata_records import UserScramCredentialRecord
from protocol.messages.produce import TopicProduceData
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest


def test_messages_compare_by_class_and_fields() -> None:
    assert MetadataRequestTopic(name="t") == MetadataRequestTopic(name="t")
    assert MetadataRequestTopic(name="t") != MetadataRequestTopic(name="u")
    assert TopicProduceData() != MetadataRequestTopic()
    with pytest.raises(TypeError, match="unhashable"):
        hash(MetadataRequestTopic())


def test_each_message_has_lists_of_its_own() -> None:
    first, second = MetadataRequest(), MetadataRequest()
    assert first.topics == second.topics == []
    assert first.topics is not second.topics
    assert MetadataRequest(topics=None).topics is None


def test_a_message_has_no_other_fields() -> None:
    with pytest.raises(AttributeError):
        MetadataRequest().topcis = []  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        MetadataRequest(topcis=[])  # type: ignore[call-arg]


def test_replace_leaves_the_first_one_as_it_is() -> None:
    first = MetadataRequest(allow_auto_topic_creation=True)
    assert replace(first, allow_auto_topic_creation=False).allow_auto_topic_creation is False
    assert first.allow_auto_topic_creation is True


def test_a_message_shows_itself_and_what_it_holds() -> None:
    request = MetadataRequest([MetadataRequestTopic(name="t")])
    assert "topics=[MetadataRequestTopic(topic_id=" in repr(request)
    assert as_dict(request)["topics"] == [{"topic_id": bytes(16), "name": "t"}]


def test_what_one_could_log_in_with_is_not_shown() -> None:
    for shown in (
        repr(SaslAuthenticateRequest(b"a secret")),
        repr(CreateDelegationTokenResponse(hmac=b"a secret", token_id="t")),
        repr(UserScramCredentialRecord("u", 1, b"salt", b"a secret", b"a secret")),
    ):
        assert "[hidden]" in shown and "secret" not in shown
