from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from broker.apis.api_versions import ApiVersionsApi
from broker.requests.context import ANONYMOUS, Api
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.frames.message_codec import (
    decode,
    decode_response,
    read_request_header,
    skip_header_tags,
)
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata_records import FeatureLevelRecord
from tests.golden.sasl_cases import CLUSTER, DESTINATIONS, NODE, RECORDED
from tests.unit.broker.apis.api_fixture import Cluster, ask, context
from tests.unit.broker.fake_connection import Connection

FEATURES = {"metadata.version": (7, 30), "group.version": (0, 1)}
CLIENT = ApiVersionsRequest("apache-kafka-java", "4.4.0")


def make(cluster: Cluster | None = None) -> ApiVersionsApi:
    def never(*_: object) -> None:
        raise AssertionError

    others = [Api(ApiKey.METADATA, 0, 13, never), Api(ApiKey.PRODUCE, 3, 13, never)]
    api = ApiVersionsApi(cluster or Cluster(), lambda: [*others, *api.apis()], FEATURES)
    return api


@pytest.mark.parametrize("version", range(6))
def test_names_what_is_served_in_order_of_keys(version: int) -> None:
    response = ask(make().handle, CLIENT, version)
    named = [(one.api_key, one.min_version, one.max_version) for one in response.api_keys]
    # Produce from 0: librdkafka does not compress otherwise (KAFKA-18659)
    assert named == [(0, 0, 13), (3, 0, 13), (18, 0, 5)]
    assert response.error_code == 0


def test_features_that_start_at_zero_are_for_version_4() -> None:
    def supported(version: int) -> list[tuple[str, int, int]]:
        response = ask(make().handle, CLIENT, version)
        return [(one.name, one.min_version, one.max_version) for one in response.supported_features]

    assert supported(4) == [("metadata.version", 7, 30), ("group.version", 0, 1)]
    assert supported(3) == [("metadata.version", 7, 30)]


def test_finalized_features_are_those_of_the_image() -> None:
    cluster = Cluster()
    cluster.replay(FeatureLevelRecord("metadata.version", 30))
    response = ask(make(cluster).handle, CLIENT, 4)
    features = [
        (one.name, one.min_version_level, one.max_version_level)
        for one in response.finalized_features
    ]
    assert features == [("metadata.version", 30, 30)]
    assert response.finalized_features_epoch == cluster.image.offset


@pytest.mark.parametrize("name", ["", "bad name!", "-x", "x-", "ümlaut"])
def test_a_client_without_a_proper_name_is_refused(name: str) -> None:
    response = ask(make().handle, ApiVersionsRequest(name, "1"), 3)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.api_keys == []
    assert ask(make().handle, ApiVersionsRequest(name, "1"), 2).error_code == 0


def test_levels_that_are_only_kept_are_not_told_and_the_quorums_own_is() -> None:
    cluster = Cluster()
    for name, level in (("metadata.version", 30), ("group.version", 2), ("streams.version", 1)):
        cluster.replay(FeatureLevelRecord(name, level))
    features = {**FEATURES, "kraft.version": (0, 1)}
    api = ApiVersionsApi(cluster, lambda: [], features, lambda: 1)
    finalized = ask(api.handle, CLIENT, 4).finalized_features
    assert [(one.name, one.max_version_level) for one in finalized] == [
        ("metadata.version", 30),
        ("kraft.version", 1),
    ]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_what_the_client_runs_on_is_noted_with_its_connection(version: int) -> None:
    connection = Connection()
    asked = replace(context(ApiKey.API_VERSIONS, version), connection=connection)
    make().handle(
        asked, ApiVersionsRequest("bad name!", "1") if version >= 3 else CLIENT, lambda _: None
    )
    assert connection.client_software_name == "unknown"
    make().handle(asked, CLIENT, lambda _: None)
    noted = (connection.client_software_name, connection.client_software_version)
    assert noted == (("apache-kafka-java", "4.4.0") if version >= 3 else ("unknown", "unknown"))


@pytest.mark.parametrize(
    ("destination", "broker_answers", "controller_answers"),
    [
        ({}, "NONE", "NONE"),
        ({"cluster_id": "c"}, "INVALID_REQUEST", "INVALID_REQUEST"),
        ({"cluster_id": ""}, "INVALID_REQUEST", "INVALID_REQUEST"),
        ({"node_id": 1}, "INVALID_REQUEST", "INVALID_REQUEST"),
        ({"node_id": -2}, "INVALID_REQUEST", "INVALID_REQUEST"),
        ({"cluster_id": "c", "node_id": 1}, "NONE", "NONE"),
        ({"cluster_id": "other", "node_id": 1}, "REBOOTSTRAP_REQUIRED", "NONE"),
        ({"cluster_id": "c", "node_id": 77}, "REBOOTSTRAP_REQUIRED", "NONE"),
        ({"cluster_id": "other", "node_id": 77}, "REBOOTSTRAP_REQUIRED", "NONE"),
    ],
)
def test_a_client_that_means_another_node_gets_an_error_as_from_kafka(
    destination: dict[str, Any], broker_answers: str, controller_answers: str
) -> None:
    for expected, own in ((broker_answers, ("c", 1)), (controller_answers, None)):
        api = ApiVersionsApi(Cluster(), lambda: [], FEATURES, destination=own)
        request = ApiVersionsRequest("client", "1", **destination)
        answer = ask(api.handle, request, 5)
        assert ErrorCode(answer.error_code).name == expected
        assert bool(answer.supported_features) == (expected == "NONE")
        assert ask(api.handle, request, 4).error_code == 0


@pytest.mark.parametrize("name", DESTINATIONS)
def test_a_destination_is_compared_only_after_a_login_as_in_kafka(name: str) -> None:
    api = ApiVersionsApi(Cluster(), lambda: [], FEATURES, destination=(CLUSTER, NODE))
    steps = json.loads(RECORDED.read_text())[f"versions v5 that mean {name}"]["steps"]
    principal, compared = ANONYMOUS, []
    for step in steps:
        frame = memoryview(bytes.fromhex(step["sent"]))
        key, version, _, _, pos = read_request_header(frame)
        if key == ApiKey.SASL_AUTHENTICATE:
            principal = "User:alice"
        if key != ApiKey.API_VERSIONS:
            continue
        request = decode(
            messages_of(ApiKey(key)).request, frame, skip_header_tags(frame, pos), version
        )
        asked = replace(
            context(key, version), principal=principal, security_protocol="SASL_PLAINTEXT"
        )
        answers: list[Any] = []
        api.handle(asked, request, answers.append)
        answer = memoryview(bytes.fromhex(step["answer"]))
        kafka = decode_response(ApiKey(key), answer, version)[1]
        assert [one.error_code for one in answers] == [kafka.error_code]
        compared.append(principal)
    assert {*compared} == {ANONYMOUS, "User:alice"}
