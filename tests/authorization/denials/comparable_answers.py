"""What an answer tells somebody, made so that two brokers can be compared and a file stays small.

Kept: each error code, which names and ids are there and which are left out, lists that are empty,
bits, and what stands beside an error. Texts are null, empty or some; ids zero or some; a number
that is beside no error is negative, zero or some. What belongs to other cases is left out.
"""

from __future__ import annotations

import re
import struct
from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError
from protocol.frames.message_codec import decode_response
from protocol.message import Message

FOREIGN = re.compile(r"(?:d\d+-|__)")
NAMES = (
    *("name", "topic", "topic_name", "group_id", "key", "transactional_id", "resource_name"),
    *("user", "groups", "coordinator_keys", "entity_name"),
)
PLAIN = ("partition_index", "partition", "index", "partition_id", "resource_type")
LEFT_OUT = ("throttle_time_ms", "documentation")
# Of which only matters whether there are any.
SOME_OR_NONE = ("configs", "api_keys", "brokers", "node_endpoints", "isr_nodes", "replica_nodes")
SOME_OR_NONE += (
    "supported_features",
    "finalized_features",
    "nodes",
    "tokens",
    "eligible_leader_replicas",
    "last_known_elr",
    "active_producers",
    "entries",
)


class ComparableAnswer:
    """Makes the answers of one case comparable."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def of(self, message: Message) -> Any:
        """Plain values."""
        return self._struct(message, False)

    def _struct(self, message: Message, refused: bool) -> Any:
        fields = {name: getattr(message, name) for name in message.__slots__}
        refused = refused or any(
            value for name, value in fields.items() if name.endswith("error_code")
        )
        left_out = (*LEFT_OUT, "host", "port") if "leader_epoch" in fields else LEFT_OUT
        kept = {
            name: self._value(name, value, refused)
            for name, value in fields.items()
            if name not in left_out
        }
        return {name: value for name, value in kept.items() if value is not ...}

    def _value(self, name: str, value: Any, refused: bool) -> Any:
        if isinstance(value, Message):
            return self._struct(value, refused)
        if isinstance(value, list):
            return self._list(name, value, refused)
        if isinstance(value, str):
            return self._text(name, value)
        if name == "response_data" and value is not None:
            return self.of(_inside(bytes(value)))
        if isinstance(value, bytes | memoryview):
            return "some" if any(bytes(value)) else ""
        if value is None or isinstance(value, bool):
            return value
        if refused or name in PLAIN or name.endswith(("error_code", "operations")):
            return value
        return ... if value > 0 else value

    def _list(self, name: str, value: list[Any], refused: bool) -> Any:
        own = [item for item in value if not self._is_foreign(item)]
        if name in SOME_OR_NONE and not any(hasattr(item, "error_code") for item in own):
            return ["some"] if own else []
        told = [self._value(name, item, refused) for item in own]
        return sorted((one for one in told if one is not ...), key=str)

    def _is_foreign(self, item: Any) -> bool:
        """Whether it is about something of another case: where everything is listed."""
        for name in NAMES:
            text = getattr(item, name, None)
            if isinstance(text, str) and FOREIGN.match(text):
                return not text.startswith((self._namespace, "__cluster_metadata"))
        return False

    def _text(self, name: str, text: str) -> str:
        own = text.replace(self._namespace, "~")
        if not own or (own != text and name in NAMES):
            return own
        return "some"


def _inside(data: bytes) -> Message:
    """The answer in an Envelope: of an API that has its own text for it, or of another."""
    for key, version in ((ApiKey.CREATE_TOPICS, 7), (ApiKey.DESCRIBE_QUORUM, 2)):
        try:
            return decode_response(key, memoryview(data), version)[1]
        except (ProtocolError, ValueError, struct.error):
            continue
    raise AssertionError(data.hex())
