"""`controller.metadata.delta`: what each record means, and that an image never changes."""

from __future__ import annotations

from typing import Any

import pytest

from controller.metadata.delegation_token import DelegationToken
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType
from controller.metadata.records import MetadataRecord, MetadataRecordError
from controller.metadata.scram_credential import ScramCredential, ScramMechanism
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records

FOO = b"f" * 16
SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def after(image: MetadataImage, *records: MetadataRecord) -> MetadataImage:
    delta = MetadataDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply(image.offset + len(records), 1, 0)


def test_an_image_stays_what_it_was() -> None:
    before = image_of(broker_record(1), *topic_records("foo", FOO, [1]))
    changed = after(before, m.PartitionChangeRecord(0, FOO, leader=-1), m.RemoveTopicRecord(FOO))
    assert before.topics.partition("foo", 0) is not None
    assert changed.topics.get("foo") is None
    assert changed.brokers is before.brokers


def test_what_did_not_change_is_shared() -> None:
    before = image_of(*topic_records("foo", FOO, [1]), *topic_records("bar", b"b" * 16, [1]))
    now = after(before, m.PartitionChangeRecord(0, FOO, leader=-1))
    assert now.topics.get("bar") is before.topics.get("bar")
    assert now.configs is before.configs


def test_registration_fencing_and_shutdown() -> None:
    image = image_of(broker_record(1, fenced=True))
    change = m.BrokerRegistrationChangeRecord
    unfenced = after(image, change(1, 10, fenced=-1))
    assert unfenced.brokers[1].active
    leaving = after(unfenced, change(1, 10, in_controlled_shutdown=1))
    assert leaving.brokers[1].in_controlled_shutdown
    assert after(unfenced, m.FenceBrokerRecord(1, 10)).brokers[1].fenced
    assert not after(image, m.UnfenceBrokerRecord(1, 10)).brokers[1].fenced
    moved = after(image, change(1, 10, log_dirs=[b"x" * 16], cordoned_log_dirs=[b"x" * 16]))
    assert moved.brokers[1].log_dirs == moved.brokers[1].cordoned_log_dirs == (b"x" * 16,)


def test_a_record_for_another_epoch_of_a_broker_does_not_fit() -> None:
    image = image_of(broker_record(1))
    with pytest.raises(MetadataRecordError, match="has epoch 10"):
        after(image, m.FenceBrokerRecord(1, 9))
    with pytest.raises(MetadataRecordError, match="is not registered"):
        after(image, m.UnregisterBrokerRecord(2, 9))


def test_unregistered() -> None:
    assert after(image_of(broker_record(1)), m.UnregisterBrokerRecord(1, 10)).brokers == {}


def test_configs_are_set_and_removed() -> None:
    image = image_of(
        m.ConfigRecord(ResourceType.TOPIC, "foo", "a", "1"),
        m.ConfigRecord(ResourceType.TOPIC, "foo", "b", "2"),
    )
    assert image.config(ResourceType.TOPIC, "foo") == {"a": "1", "b": "2"}
    less = after(image, m.ConfigRecord(ResourceType.TOPIC, "foo", "a", None))
    assert less.config(ResourceType.TOPIC, "foo") == {"b": "2"}
    none = after(less, m.ConfigRecord(ResourceType.TOPIC, "foo", "b", None))
    assert none.configs == {}


def test_a_removed_topic_takes_its_configs_along() -> None:
    """One RemoveTopicRecord is all that Kafka writes."""
    config = m.ConfigRecord(ResourceType.TOPIC, "foo", "retention.ms", "5")
    image = image_of(*topic_records("foo", FOO, [1]), config)
    assert after(image, m.RemoveTopicRecord(FOO)).configs == {}


def test_a_topic_made_anew_in_the_same_batch() -> None:
    image = image_of(*topic_records("foo", FOO, [1], [1]))
    now = after(image, m.RemoveTopicRecord(FOO), *topic_records("foo", b"n" * 16, [1]))
    topic = now.topics.get("foo")
    assert topic is not None
    assert topic.id == b"n" * 16
    assert len(topic.partitions) == 1
    assert now.topics.get_by_id(FOO) is None


def test_features_and_producer_ids() -> None:
    image = image_of(m.FeatureLevelRecord("x", 2), m.ProducerIdsRecord(1, 1, 3000))
    assert image.features == {"x": 2}
    assert image.next_producer_id == 3000
    assert after(image, m.FeatureLevelRecord("x", 0)).features == {}


def test_controllers() -> None:
    record = m.RegisterControllerRecord(
        controller_id=5,
        end_points=[m.ControllerEndpoint("CONTROLLER", "h", 9093, 0)],
        features=[m.ControllerFeature("metadata.version", 7, 30)],
    )
    controller = image_of(record).controllers[5]
    assert controller.endpoints["CONTROLLER"].port == 9093
    assert controller.features == {"metadata.version": (7, 30)}
    image = image_of(record, m.UnregisterControllerRecord(6))
    assert image.controllers.keys() == {5}
    assert after(image, m.UnregisterControllerRecord(5)).controllers == {}


def test_scram_users() -> None:
    first = m.UserScramCredentialRecord("u", SHA_256, b"salt", b"stored", b"server", 4096)
    both = image_of(first, m.UserScramCredentialRecord("u", SHA_512, b"s", b"t", b"r", 5000))
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    assert both.scram.credential(SHA_256, "u") == credential
    assert both.scram.credential(SHA_512, "u") == ScramCredential(b"s", b"t", b"r", 5000)
    assert both.scram.credential(SHA_256, "v") is None
    one = after(both, m.RemoveUserScramCredentialRecord("u", SHA_256))
    assert one.scram.credential(SHA_256, "u") is None
    assert one.scram.credential(SHA_512, "u") is not None
    assert both.scram.credential(SHA_256, "u") is not None, "an image never changes"
    changed = after(both, m.UserScramCredentialRecord("u", SHA_256, b"2", b"", b"", 6000))
    assert [c.iterations for c in changed.scram.users["u"].values()] == [6000, 5000]
    assert after(one, m.RemoveUserScramCredentialRecord("u", SHA_512)).scram.users == {}
    assert after(one, m.NoOpRecord()).scram is one.scram


def test_a_delta_tells_which_scram_users_changed() -> None:
    image = image_of(m.UserScramCredentialRecord("u", SHA_256), m.NoOpRecord())
    delta = MetadataDelta(image)
    delta.replay(m.RemoveUserScramCredentialRecord("u", SHA_256))
    delta.replay(m.UserScramCredentialRecord("v", SHA_512))
    assert not delta.is_empty
    assert delta.changed_scram == {"u": {}, "v": {SHA_512: ScramCredential(b"", b"", b"", 0)}}


@pytest.mark.parametrize(
    "record", [m.UserScramCredentialRecord("u", 3), m.RemoveUserScramCredentialRecord("u", 0)]
)
def test_a_scram_mechanism_that_nobody_knows(record: Any) -> None:
    with pytest.raises(MetadataRecordError, match="ScramCredentialRecord of user u has unknown"):
        image_of(record)


def test_client_quotas_come_and_go() -> None:
    entity = [m.EntityData("user", "u"), m.EntityData("client-id", None)]
    image = image_of(m.ClientQuotaRecord(entity, "producer_byte_rate", 1.0))
    parts = (("client-id", None), ("user", "u"))
    assert image.client_quotas == {parts: {"producer_byte_rate": 1.0}}
    delta = MetadataDelta(image)
    delta.replay(m.ClientQuotaRecord(entity[::-1], "producer_byte_rate", remove=True))
    delta.replay(m.ClientQuotaRecord(entity, "nothing", remove=True))
    assert not delta.is_empty
    assert delta.changed_quotas == {parts: {}}
    assert delta.apply(200, 1, 0).client_quotas == {}
    more = after(image, m.ClientQuotaRecord(entity, "request_percentage", 2.5))
    assert more.client_quotas == {parts: {"producer_byte_rate": 1.0, "request_percentage": 2.5}}


def test_delegation_tokens_come_and_go() -> None:
    first = m.DelegationTokenRecord("User:o", "User:a", ["User:r"], 1, 9, 5, "one")
    renewed = m.DelegationTokenRecord("User:o", "User:a", ["User:r"], 1, 9, 7, "one")
    token = DelegationToken("one", "User:o", "User:a", ("User:r",), 1, 9, 5)
    image = image_of(first, m.DelegationTokenRecord(token_id="two"))
    assert image.tokens["one"] == token and list(image.tokens) == ["one", "two"]
    delta = MetadataDelta(image)
    delta.replay(renewed)
    delta.replay(m.RemoveDelegationTokenRecord("two"))
    assert not delta.is_empty
    assert delta.changed_tokens == {"one": token._replace(expiry_ms=7), "two": None}
    assert delta.apply(200, 1, 0).tokens == {"one": token._replace(expiry_ms=7)}
    assert image.tokens["one"] == token


def test_a_delta_knows_whether_it_is_empty() -> None:
    delta = MetadataDelta(image_of(broker_record(1)))
    delta.replay(m.NoOpRecord())
    assert delta.is_empty
    delta.replay(m.FenceBrokerRecord(1, 10))
    assert not delta.is_empty


def test_a_record_without_a_rule_is_named() -> None:
    with pytest.raises(MetadataRecordError, match="no rule to replay a str"):
        MetadataDelta(MetadataImage()).replay("nonsense")
