from __future__ import annotations

from pathlib import Path

from broker.node.apis import TRANSACTION_KEYS
from broker.node.transaction_apis import node_transaction_apis
from protocol.api_keys import STABLE_VERSIONS, messages_of
from protocol.errors import ErrorCode
from tests.unit.broker.node_fixture import Running


def test_the_loaded_apis_are_those_that_were_named(tmp_path: Path) -> None:
    running = Running(tmp_path)
    broker = running.node.broker
    assert broker is not None
    apis = node_transaction_apis(broker)
    assert sorted(api.key for api in apis) == sorted(TRANSACTION_KEYS)
    for api in apis:
        assert (api.oldest, api.latest) == STABLE_VERSIONS[api.key]
        messages = messages_of(api.key)
        if api.refuse is None:
            assert hasattr(messages.response(), "error_code"), api.key
        else:
            api.refuse(messages.request(), ErrorCode.UNKNOWN_SERVER_ERROR)
    running.stop()
