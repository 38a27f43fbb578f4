"""What is sent: steps of a sequence as plain data, and how one becomes a request for one broker.

A step names things, not ids: `{"$": "producer_id", "of": "x"}` stands for the id that this broker
gave to `x`, so the same step can be sent to two brokers, alone or after fewer steps than before. It
is data of JSON, so that a sequence can be kept in a file. Owns no connection and no state.

    "~t0"                                  a name of this sequence: its namespace before `t0`
    {"$": kind, "of": key, "or": 7, "add": 1}   what was learned, or `or`; plus `add`
    {"$hex": "00ff"}                       bytes
    {"$long": 300}                         a name of this sequence of that length
    {"$records": [{...}]}                  batches, see `record_sets`
    "\\ue000"                               in any text: three bytes that are no UTF-8
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any
from zlib import crc32

from protocol.api_keys import ApiKey, messages_of
from protocol.message import Message
from protocol.primitives import MessageBuffer
from tests.differential.record_sets import build_record_set
from tests.messages.message_values import struct_classes

NOT_UTF8 = "\ue000"
_NOT_UTF8_BYTES = (NOT_UTF8.encode(), b"\xe9A\xff")

Body = dict[str, Any]
Learned = dict[tuple[str, str], Any]


@dataclass
class Step:
    """One request. `frame` says how its bytes are spoilt, `pause_s` what is waited before it."""

    api: str
    version: int
    body: Body = field(default_factory=dict)
    connection: int = 0
    frame: dict[str, Any] = field(default_factory=dict)
    pause_s: float = 0.0
    client_id: str | None = "wire"

    @property
    def key(self) -> ApiKey:
        return ApiKey[self.api]

    @property
    def waits(self) -> bool:
        """Whether a broker may hold the answer until others have asked."""
        return self.api in ("JOIN_GROUP", "SYNC_GROUP")

    @property
    def is_answered(self) -> bool:
        return not (self.api == "PRODUCE" and self.body.get("acks", 0) == 0)

    def __str__(self) -> str:
        spoilt = f" frame={self.frame}" if self.frame else ""
        return f"[{self.connection}] {self.api} v{self.version} {json.dumps(self.body)}{spoilt}"


@dataclass
class Sequence:
    """Steps in their order, and where they come from."""

    name: str
    steps: list[Step]
    probes: bool = True
    """Whether the state is compared at the end, too."""
    setup: int | None = None
    """After so many steps the rest are cases of their own: where one differs, those behind it are
    run after the same first steps, anew. None: one story, which ends with its first difference."""

    def after_case(self, index: int) -> Sequence | None:
        """What is left to run where step `index` ended a run."""
        if self.setup is None or not self.setup <= index < len(self.steps) - 1:
            return None
        return replace(self, steps=self.steps[: self.setup] + self.steps[index + 1 :])

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Sequence:
        data = json.loads(text)
        return Sequence(**{**data, "steps": [Step(**one) for one in data["steps"]]})


class Resolver:
    """Turns bodies into messages for one broker: with its ids and this sequence's namespace."""

    def __init__(self, namespace: str, learned: Learned) -> None:
        self.namespace = namespace
        self.learned = learned

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.namespace + value[1:] if value.startswith("~") else value
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$" in value:
            return self._symbol(value)
        if "$hex" in value:
            return bytes.fromhex(value["$hex"])
        if "$long" in value:
            return self.namespace.ljust(int(value["$long"]), "n")
        if "$records" in value:
            return build_record_set([self.value(batch) for batch in value["$records"]])
        return {key: self.value(item) for key, item in value.items()}

    def _symbol(self, symbol: Body) -> Any:
        key = self.value(symbol["of"])
        found = self.learned.get((symbol["$"], key), symbol.get("or"))
        if found is None:
            found = DEFAULTS[symbol["$"]]
            if symbol["$"] == "producer_id":
                found += crc32(str(symbol["of"]).encode()) % 100_000
        return found + symbol["add"] if "add" in symbol else found

    def message(self, step: Step) -> Message:
        return build(messages_of(step.key).request, self.value(step.body))


DEFAULTS: dict[str, Any] = {
    "topic_id": bytes(range(16)),
    "cluster_id": "unknown",
    "producer_id": 4_000_000,
    "epoch": 0,
    "sequence": 0,
    "member": "",
    "generation": -1,
    "session": 0,
    "session_epoch": 0,
    "share_session_epoch": 0,
    "directory": "/no/such/folder",
}


def build(cls: type, tree: Body) -> Any:
    """A message of class `cls` from a tree of plain values; what is not named has its default."""
    message = cls()
    structs = struct_classes(cls)
    for name, value in tree.items():
        nested = structs[name]
        if nested is not None and value is not None:
            listed = isinstance(value, list)
            value = [build(nested, one) for one in value] if listed else build(nested, value)
        setattr(message, name, value)
    return message


def frame_of(step: Step, message: Any, correlation: int) -> bytes:
    """The request's frame without its size: header and body, as `step.frame` wants them."""
    out = MessageBuffer()
    flexible = step.version >= message.FLEXIBLE_FROM
    head = step.frame
    client_id = head.get("client_id", step.client_id)
    _write_header(
        out,
        head.get("api_key", message.API_KEY),
        head.get("version", step.version),
        correlation,
        client_id,
        flexible,
        head.get("header_tags"),
    )
    if "body" in head:
        out += bytes.fromhex(head["body"])
    else:
        message.write(out, step.version)
    data = bytearray(out.joined().replace(*_NOT_UTF8_BYTES))
    if "cut" in head:
        del data[max(8, len(data) - head["cut"]) :]
    data += bytes.fromhex(head.get("behind", ""))
    return bytes(data)


def _write_header(
    out: MessageBuffer,
    key: int,
    version: int,
    correlation: int,
    client_id: str | None,
    flexible: bool,
    tags: str | None,
) -> None:
    out += key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)
    out += correlation.to_bytes(4, "big")
    text = None if client_id is None else client_id.encode()
    out += (-1 if text is None else len(text)).to_bytes(2, "big", signed=True) + (text or b"")
    if flexible:
        out += bytes.fromhex(tags) if tags else b"\0"


@cache
def fields_of(cls: type) -> dict[str, type | None]:
    """Attribute → struct class, or None for a plain value."""
    return struct_classes(cls)
