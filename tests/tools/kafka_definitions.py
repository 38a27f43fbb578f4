"""Kafka's message definitions, read out of the reference's jars.

    python -m tests.tools.kafka_definitions     # writes protocol/definitions/

Each jar has those of its own messages as JSON with comments. Names, types, versions and defaults
are kept, and the descriptions of fields (`about`) left out. `python -m protocol.generate` makes
the message classes of them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from tests.tools.java_tools import PROJECT_DIR, kafka_classpath

DEFINITIONS = PROJECT_DIR / "protocol" / "definitions"

_SOURCES = {
    "requests.json": ("kafka-clients", {"request", "response", "header"}),
    "consumer-protocol.json": ("kafka-clients", {"data"}),
    "metadata-records.json": ("kafka-metadata", {"metadata"}),
    "group-records.json": ("kafka-group-coordinator", {"coordinator-key", "coordinator-value"}),
    "share-records.json": ("kafka-share-coordinator", {"coordinator-key", "coordinator-value"}),
    "transaction-records.json": (
        "kafka-transaction-coordinator",
        {"coordinator-key", "coordinator-value"},
    ),
    "raft-records.json": ("kafka-raft", {"data"}),
    "storage-records.json": ("kafka-storage", {"data"}),
}
"""For each file of definitions the jar, and the types of messages that belong to it."""
_MESSAGE_KEYS = ("apiKey", "type", "name", "listeners", "validVersions", "latestVersionUnstable")
_FIELD_KEYS = (
    *("name", "type", "versions", "flexibleVersions", "nullableVersions", "taggedVersions", "tag"),
    *("default", "ignorable", "zeroCopy", "fields", "mapKey", "entityType"),
)
# A comment is a line of its own, or stands behind a value.
_COMMENT = re.compile(r"^\s*//.*$|\s//[^\"\n]*$", re.MULTILINE)


def definitions_of(folder: Path) -> dict[str, str]:
    """Return the text of each file of definitions, by its name, as the jars in `folder` have it.

    Raises FileNotFoundError if a jar is missing.
    """
    texts = {}
    for file, (jar, types) in _SOURCES.items():
        listed = [
            message for message in _messages_of(_jar(folder, jar)) if message["type"] in types
        ]
        lines = [json.dumps(_message(message)) for message in sorted(listed, key=_name)]
        texts[file] = "[\n" + ",\n".join(lines) + "\n]\n"
    return texts


def _jar(folder: Path, name: str) -> Path:
    jars = [path for path in folder.glob(f"{name}-*.jar") if path.stem[len(name) + 1].isdigit()]
    if len(jars) != 1:
        raise FileNotFoundError(f"{folder} has not one jar of {name}, but {len(jars)}")
    return jars[0]


def _messages_of(jar: Path) -> list[dict[str, Any]]:
    with ZipFile(jar) as archive:
        return [
            json.loads(_COMMENT.sub("", archive.read(name).decode()))
            for name in archive.namelist()
            if re.fullmatch(r"(common/)?(message|metadata)/\w+\.json", name)
        ]


def _name(message: dict[str, Any]) -> str:
    name: str = message["name"]
    return name


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with its keys in the order of the files."""
    kept = {key: message[key] for key in _MESSAGE_KEYS if key in message}
    if "flexibleVersions" in message:
        kept["flexibleVersions"] = message["flexibleVersions"]
    kept["fields"] = [_field(field) for field in message.get("fields", ())]
    if "commonStructs" in message:
        kept["commonStructs"] = [_field(struct) for struct in message["commonStructs"]]
    return kept


def _field(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field, or a structure, with its keys in the order of the files."""
    unknown = field.keys() - {*_FIELD_KEYS, "about"}
    if unknown:
        raise ValueError(f"a field has unknown keys: {', '.join(sorted(unknown))}")
    kept = {key: field[key] for key in _FIELD_KEYS if key in field}
    if "fields" in kept:
        kept["fields"] = [_field(nested) for nested in kept["fields"]]
    return kept


if __name__ == "__main__":
    for file_name, text in definitions_of(Path(kafka_classpath()).parent).items():
        (DEFINITIONS / file_name).write_text(text)
