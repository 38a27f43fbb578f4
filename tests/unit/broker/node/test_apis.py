from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from broker.node.apis import (
    ADMIN_KEYS,
    SHARE_GROUP_KEYS,
    SHARE_STATE_KEYS,
    TRANSACTION_KEYS,
    admin_apis,
    share_group_apis,
    share_state_apis,
    transaction_apis,
)
from broker.node.parts import BrokerParts
from broker.requests.context import Api
from protocol.api_keys import STABLE_VERSIONS, ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from tests.unit.broker.node_fixture import Running

# What the first release is to serve, and nothing else.
SERVED = """
    PRODUCE FETCH LIST_OFFSETS METADATA OFFSET_COMMIT OFFSET_FETCH FIND_COORDINATOR JOIN_GROUP
    HEARTBEAT LEAVE_GROUP SYNC_GROUP CONSUMER_GROUP_HEARTBEAT CONSUMER_GROUP_DESCRIBE
    DESCRIBE_GROUPS LIST_GROUPS API_VERSIONS CREATE_TOPICS
    DELETE_TOPICS DELETE_RECORDS INIT_PRODUCER_ID OFFSET_FOR_LEADER_EPOCH DESCRIBE_CONFIGS
    ALTER_CONFIGS ALTER_REPLICA_LOG_DIRS DESCRIBE_LOG_DIRS CREATE_PARTITIONS DELETE_GROUPS
    INCREMENTAL_ALTER_CONFIGS LIST_PARTITION_REASSIGNMENTS ELECT_LEADERS UPDATE_FEATURES
    UNREGISTER_BROKER UNREGISTER_CONTROLLER DESCRIBE_QUORUM ADD_RAFT_VOTER REMOVE_RAFT_VOTER
    ALTER_PARTITION_REASSIGNMENTS
    OFFSET_DELETE DESCRIBE_CLUSTER DESCRIBE_PRODUCERS LIST_CONFIG_RESOURCES
    DESCRIBE_TOPIC_PARTITIONS ADD_PARTITIONS_TO_TXN ADD_OFFSETS_TO_TXN END_TXN
    DESCRIBE_ACLS CREATE_ACLS DELETE_ACLS
    CREATE_DELEGATION_TOKEN RENEW_DELEGATION_TOKEN EXPIRE_DELEGATION_TOKEN DESCRIBE_DELEGATION_TOKEN
    DESCRIBE_CLIENT_QUOTAS ALTER_CLIENT_QUOTAS
    DESCRIBE_USER_SCRAM_CREDENTIALS ALTER_USER_SCRAM_CREDENTIALS
    SASL_HANDSHAKE SASL_AUTHENTICATE
    DESCRIBE_TRANSACTIONS LIST_TRANSACTIONS WRITE_TXN_MARKERS TXN_OFFSET_COMMIT
    INITIALIZE_SHARE_GROUP_STATE READ_SHARE_GROUP_STATE WRITE_SHARE_GROUP_STATE
    DELETE_SHARE_GROUP_STATE READ_SHARE_GROUP_STATE_SUMMARY SHARE_FETCH SHARE_ACKNOWLEDGE
    SHARE_GROUP_HEARTBEAT SHARE_GROUP_DESCRIBE
    DESCRIBE_SHARE_GROUP_OFFSETS ALTER_SHARE_GROUP_OFFSETS DELETE_SHARE_GROUP_OFFSETS
"""


def test_what_is_served_has_kafkas_whole_range_and_a_way_to_say_that_it_failed(
    tmp_path: Path,
) -> None:
    running = Running(tmp_path)
    assert running.node.broker is not None
    apis: dict[int, Api] = running.node.broker.requests.apis
    assert {ApiKey(key).name for key in apis} == set(SERVED.split())
    for key, api in apis.items():
        assert (api.oldest, api.latest) == STABLE_VERSIONS[ApiKey(key)]
        check_refusal(api)
    running.stop()


@pytest.mark.parametrize(
    ("keys", "load"),
    [
        (ADMIN_KEYS, admin_apis),
        (TRANSACTION_KEYS, transaction_apis),
        (SHARE_STATE_KEYS, share_state_apis),
        (SHARE_GROUP_KEYS, share_group_apis),
    ],
)
def test_the_apis_that_are_loaded_late_are_those_that_were_named(
    tmp_path: Path, keys: Sequence[ApiKey], load: Callable[[BrokerParts], list[Api]]
) -> None:
    running = Running(tmp_path)
    assert running.node.broker is not None
    apis = load(running.node.broker.parts)
    assert sorted(api.key for api in apis) == sorted(keys)
    for api in apis:
        assert (api.oldest, api.latest) == STABLE_VERSIONS[api.key]
        check_refusal(api)
    running.stop()


def check_refusal(api: Api) -> None:
    messages = messages_of(api.key)
    if api.refuse is None:
        assert hasattr(messages.response(), "error_code"), api.key
    else:
        request = messages.request()
        if api.key is ApiKey.PRODUCE:
            refused = api.refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
            assert isinstance(refused, ProtocolError)
            request.acks = 1
        api.refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
