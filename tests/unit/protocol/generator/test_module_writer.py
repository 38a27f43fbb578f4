from __future__ import annotations

import pytest

from tests.unit.protocol.made_up import classes, definition, field, read, source, written

PARTITION = [
    field("Index", "int32"),
    field("Leader", "int32", "1-2", default="-1"),
    field("Racks", "[]string", "2+", nullableVersions="3+"),
]
TOPIC = [
    field("Name", "string", nullableVersions="1+"),
    field("TopicId", "uuid", "2+"),
    field("Partitions", "[]Partition", fields=PARTITION),
    field("Hint", "string", None, taggedVersions="3+", tag=0, default="none"),
]
REQUEST = definition(
    "PingRequest",
    field("Topics", "[]Topic", fields=TOPIC),
    field("Force", "bool", default="true"),
    type="request",
    apiKey=999,
    valid="0-4",
    flexible="3+",
)
RESPONSE = definition(
    "PingResponse",
    field("ThrottleTimeMs", "int32"),
    field("Topics", "[]Topic", fields=[field("Error", "int16")]),
    type="response",
    apiKey=999,
    valid="0-4",
    flexible="3+",
)


def test_a_module_says_who_wrote_it() -> None:
    first = source(REQUEST).partition("\n")[0]
    assert first == '"""Made up. Written by protocol/generate.py: do not edit."""'


def test_only_a_message_has_a_key_and_versions() -> None:
    module = classes(REQUEST)
    cls = module.PingRequest
    found = cls.API_KEY, cls.MIN_VERSION, cls.MAX_VERSION, cls.FLEXIBLE_FROM
    assert found == (999, 0, 4, 3)
    assert not hasattr(module.Topic, "MIN_VERSION")


def test_a_message_without_api_and_without_flexible_versions() -> None:
    cls = classes(definition("Value", field("A", "int8"), valid="0-1")).Value
    assert not hasattr(cls, "API_KEY")
    assert cls.FLEXIBLE_FROM > cls.MAX_VERSION


def test_request_and_response_of_an_api_are_named() -> None:
    module = classes(REQUEST, RESPONSE)
    assert (module.PingRequest, module.PingResponse) == (module.REQUEST, module.RESPONSE)
    assert not hasattr(classes(REQUEST), "REQUEST")


def test_structs_that_share_a_name_get_that_of_their_message() -> None:
    module = classes(REQUEST, RESPONSE)
    assert module.PingRequestTopic().__slots__ == ("name", "topic_id", "partitions", "hint")
    assert module.PingResponseTopic().__slots__ == ("error",)
    assert not hasattr(module, "Topic")


def test_fields_have_their_defaults_and_no_two_messages_share_a_list() -> None:
    module = classes(REQUEST)
    one, other = module.PingRequest(), module.PingRequest()
    assert (one.topics, one.force) == ([], True)
    assert one.topics is not other.topics
    assert (module.Topic().name, module.Topic().hint, module.Partition().leader) == ("", "none", -1)


def test_a_default_string_with_both_kinds_of_quotes_is_itself() -> None:
    quoted = """it's "so" """
    cls = classes(definition("Value", field("A", "string", default=quoted))).Value
    assert cls().a == quoted


def test_a_message_has_no_other_fields() -> None:
    with pytest.raises(AttributeError):
        classes(REQUEST).PingRequest().topic = []


@pytest.mark.parametrize(
    ("version", "name", "topic_id", "leader", "racks", "hint"),
    [
        (0, "t", bytes(16), -1, [], "none"),
        (1, None, bytes(16), 7, [], "none"),
        (2, None, b"\x01" * 16, 7, ["r"], "none"),
        (3, None, b"\x01" * 16, -1, None, "here"),
        (4, None, b"\x01" * 16, -1, ["r", ""], "here"),
    ],
)
def test_a_message_reads_what_it_wrote_in_every_version(
    version: int,
    name: str | None,
    topic_id: bytes,
    leader: int,
    racks: list[str] | None,
    hint: str,
) -> None:
    module = classes(REQUEST)
    partitions = [module.Partition(1, leader, racks), module.Partition(2, leader, racks)]
    message = module.PingRequest(
        [module.Topic(name, topic_id, partitions, hint), module.Topic("empty")], force=False
    )
    assert read(module.PingRequest, written(message, version), version) == message


def test_what_a_version_does_not_know_is_not_carried() -> None:
    module = classes(REQUEST)
    partition = module.Partition(1, 7, ["r"])
    full = module.PingRequest([module.Topic("t", b"\x01" * 16, [partition], "here")])
    found = read(module.PingRequest, written(full, 0), 0).topics[0]
    assert (found.topic_id, found.hint) == (bytes(16), "none")
    assert found.partitions == [module.Partition(1)]
