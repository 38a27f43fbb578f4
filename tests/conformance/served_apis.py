"""Which APIs Ottla names in ApiVersions, and which Apache Kafka names, listener by listener.

Ottla is asked as a client asks it, in this process. What Kafka answers was recorded once
(`kafka_api_versions.json`, written by `python -m tests.conformance --record`).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from broker.node.controller_server import ControllerServer
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.clients.wire_client import WireClient
from tests.kept_json import write_json
from tests.tools.apache_kafka import HOST, ApacheKafka
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.node_fixture import Running

Ranges = dict[ApiKey, tuple[int, int]]
"""API → (oldest, latest) version, as ApiVersions names them."""

RECORDED = Path(__file__).parent / "kafka_api_versions.json"
LISTENERS = ("broker", "controller")
ASKED = ApiVersionsRequest("conformance", "1")
VERSION = 4


def of_ottla() -> dict[str, Ranges]:
    """What a node of both roles answers, by listener."""
    with tempfile.TemporaryDirectory() as folder:
        running = Running(Path(folder))
        broker: ApiVersionsResponse = running.ask(ASKED, VERSION)
        reply = Reply()
        frame = memoryview(bytearray(encode_request(ASKED, VERSION, 5, "me")))[4:]
        server = ControllerServer(running.node.shared)
        server.requests.handle(Connection(), frame, reply)
        running.scheduler.run_until(lambda: bool(reply))
        answer = memoryview(bytes(reply[0]))[4:]
        controller = decode_response(ApiKey.API_VERSIONS, answer, VERSION)[1]
        running.stop()
    return {"broker": _ranges(broker), "controller": _ranges(controller)}


def of_kafka() -> dict[str, Ranges]:
    """Return the versions of APIs that Apache Kafka named, by listener."""
    recorded = json.loads(RECORDED.read_text())
    return {
        listener: {ApiKey[name]: (oldest, latest) for name, (oldest, latest) in apis.items()}
        for listener, apis in recorded.items()
    }


def record() -> None:
    """Start an Apache Kafka, ask both of its listeners, keep the answers."""
    told = {}
    with ApacheKafka() as kafka:
        for listener, port in zip(LISTENERS, (kafka.port, kafka.controller_port), strict=True):
            with WireClient(port, host=HOST) as client:
                ranges = _ranges(client.call(ASKED, VERSION))
            told[listener] = {key.name: list(versions) for key, versions in ranges.items()}
    write_json(RECORDED, told, line_max=100)


def _ranges(response: ApiVersionsResponse) -> Ranges:
    return {ApiKey(api.api_key): (api.min_version, api.max_version) for api in response.api_keys}
