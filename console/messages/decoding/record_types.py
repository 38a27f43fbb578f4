"""The names of record types in `__consumer_offsets` and `__transaction_state`.

The decoders write a type as a number, as Kafka's console consumer does; the page shows its name.
"""

from __future__ import annotations

from types import ModuleType

from client.records.decoders import OFFSETS, TRANSACTIONS, kafka_name
from protocol.messages import group_records, transaction_records


def type_name(kind: str, key: object) -> str | None:
    """Return the name of the type in a decoded key, such as OFFSET_COMMIT; None if it has none.

    `kind` is the name of the decoder.
    """
    number = key.get("type") if isinstance(key, dict) else None
    return _NAMES.get(kind, {}).get(number)


def _names(module: ModuleType) -> dict[object, str]:
    """Return the names of the record types of a module, in Kafka's form, by their numbers."""
    return {
        str(cls.API_KEY): kafka_name(name.removesuffix("Key"))
        for name, cls in vars(module).items()
        if isinstance(cls, type) and hasattr(cls, "API_KEY") and name.endswith("Key")
    }


_NAMES = {OFFSETS: _names(group_records), TRANSACTIONS: _names(transaction_records)}
