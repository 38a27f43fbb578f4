from __future__ import annotations

from pathlib import Path

from broker.node.admin_apis import node_admin_apis
from broker.node.apis import ADMIN_KEYS
from protocol.api_keys import STABLE_VERSIONS, messages_of
from protocol.errors import ErrorCode
from tests.unit.broker.node_fixture import Running


def test_the_loaded_apis_are_those_that_were_named(tmp_path: Path) -> None:
    running = Running(tmp_path)
    apis = node_admin_apis(running.node.broker)
    assert sorted(api.key for api in apis) == sorted(ADMIN_KEYS)
    for api in apis:
        assert (api.oldest, api.latest) == STABLE_VERSIONS[api.key]
        messages = messages_of(api.key)
        if api.refuse is None:
            assert hasattr(messages.response(), "error_code"), api.key
        else:
            api.refuse(messages.request(), ErrorCode.UNKNOWN_SERVER_ERROR)
    running.stop()
