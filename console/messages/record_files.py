"""Parts of a record as files, which the browser saves and the page copies.

Key and value are their bytes. The headers and the whole record are JSON, as `ottla consume --json`
prints it and `ottla produce --json` reads it. Pure.
"""

from __future__ import annotations

from client.records.rendering import headers_as_json, record_as_json
from console.endpoints import Download, NotHere
from protocol.records import Record

KEY, VALUE, HEADERS, RECORD = "key", "value", "headers", "record"
_PARTS = (KEY, VALUE, HEADERS, RECORD)


def check_part(part: str) -> None:
    """Raise NotHere if records have no part of this name."""
    if part not in _PARTS:
        raise NotHere(f"a record has no {part}: ask for its {', '.join(_PARTS[:-1])} or {RECORD}")


def file_of(topic: str, partition: int, record: Record, part: str) -> Download:
    """Return a part of a record as a file. Raises NotHere if the part is null."""
    name = f"{topic}-{partition}-{record.offset}"
    if part == RECORD:
        return Download(f"{name}.json", record_as_json(topic, partition, record) + b"\n")
    if part == HEADERS:
        return Download(f"{name}.headers.json", headers_as_json(record.headers) + b"\n")
    data = record.key if part == KEY else record.value
    if data is None:
        raise NotHere(f"the {part} of this record is null: there is nothing to save")
    return Download(f"{name}.{part}", data)
