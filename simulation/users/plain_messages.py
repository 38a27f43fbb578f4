"""Requests made of plain values, and responses as plain values, for any API by its name.

Field names are those of Kafka's definitions, in snake case: {"topics": [{"name": "a"}]}. A field
that is left out has its default. In both directions structs are dicts, arrays are lists and bytes
are bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import get_args, get_type_hints

from ottla.testing.frames import Json
from protocol.api_keys import STABLE_VERSIONS, ApiKey, messages_of
from protocol.message import Message, as_dict
from testbed.operation_error import OperationError
from testbed.operations.decoded_requests import api_key, did_you_mean, pascal


class WrongRequest(ValueError):
    """A request that cannot be made from these values; the text says which values are possible."""


def api_of(name: str) -> ApiKey:
    """Return the API of a name such as "CreateTopics" or "CREATE_TOPICS". Raises WrongRequest."""
    try:
        return api_key(name)
    except OperationError as error:
        raise WrongRequest(str(error)) from error


def request_of(api: ApiKey, fields: Mapping[str, Json]) -> Message:
    """Return the request of an API with these fields, by their names in snake case. Raises
    WrongRequest at an unknown field."""
    return _message_of(messages_of(api).request, fields, pascal(api))


def version_of(api: ApiKey, version: int | None) -> int:
    """Return the given version, or the newest that Ottla serves if it is None. Raises WrongRequest
    if Ottla does not serve the API or the version."""
    if api not in STABLE_VERSIONS:
        raise WrongRequest(f"{pascal(api)} is not served")
    oldest, newest = STABLE_VERSIONS[api]
    if version is None:
        return newest
    if not oldest <= version <= newest:
        raise WrongRequest(f"{pascal(api)} has versions {oldest} to {newest}, not {version}")
    return version


def plain(message: Message) -> Json:
    """Return a message as dicts and lists of plain values, with bytes in place of views."""
    return _without_views(as_dict(message))


def _message_of(kind: type[Message], fields: Json, where: str) -> Message:
    """Return a message of this class with the fields.

    Raises WrongRequest, which names `where`, at an unknown field.
    """
    if not isinstance(fields, Mapping):
        raise WrongRequest(f"{where} is a struct with {', '.join(kind.__slots__)}, not {fields!r}")
    hints = get_type_hints(kind.__init__, vars(sys.modules[kind.__module__]))
    unknown = [name for name in fields if name not in kind.__slots__]
    if unknown:
        perhaps = did_you_mean(unknown[0], kind.__slots__) or f": {', '.join(kind.__slots__)}"
        raise WrongRequest(f"{where} has no field {unknown[0]}{perhaps}")
    values = {
        name: _field_value(hints[name], value, f"{where}.{name}") for name, value in fields.items()
    }
    return kind(**values)


def _field_value(hint: object, value: Json, where: str) -> Json:
    """Return a field's value, with messages in place of mappings. Raises WrongRequest."""
    kind = _message_in(hint)
    if kind is None or value is None:
        return value
    if isinstance(value, list | tuple):
        return [_message_of(kind, item, where) for item in value]
    return _message_of(kind, value, where)


def _message_in(hint: object) -> type[Message] | None:
    """Return the struct that a field holds or lists, None if it holds none."""
    if isinstance(hint, type) and issubclass(hint, Message):
        return hint
    return next((kind for arg in get_args(hint) if (kind := _message_in(arg))), None)


def _without_views(value: Json) -> Json:
    """Return the value with bytes in place of views and bytearrays, at any depth."""
    if isinstance(value, dict):
        return {name: _without_views(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_views(item) for item in value]
    return bytes(value) if isinstance(value, memoryview | bytearray) else value
