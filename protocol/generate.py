"""The generator of `protocol/messages/`: `python -m protocol.generate [--check]`.

Kafka's definitions become one module for each API (request and response), and one for each family
of records. A message is a slotted class with the fields of all its versions; `read` and `write` are
straight-line code with a branch for flexible versions and one for each range in which a field
exists. One `struct.Struct` reads and writes neighbouring fields of fixed size.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from protocol.generator.module_writer import ModuleWriter
from protocol.generator.schema import MessageSpec, parse_message, snake_case

HERE = Path(__file__).parent
FAMILIES = {
    "consumer-protocol.json": "consumer_protocol",
    "metadata-records.json": "metadata_records",
    "group-records.json": "group_records",
    "transaction-records.json": "transaction_records",
    "share-records.json": "share_records",
    "raft-records.json": "raft_records",
    "storage-records.json": "storage_records",
}


def modules() -> dict[str, str]:
    """Return the source of each module of `protocol/messages/`, by file name."""
    requests = json.loads((HERE / "definitions" / "requests.json").read_text())
    by_api: dict[int | None, list[MessageSpec]] = {}
    for definition in requests:
        spec = parse_message(definition)
        by_api.setdefault(spec.api_key, []).append(spec)
    sources: dict[str, str] = {}
    for key, messages in by_api.items():
        messages.sort(key=lambda m: m.name)  # …Request before …Response
        if key is None:
            sources["headers.py"] = ModuleWriter("Request and response headers", messages).source()
            continue
        api = messages[0].name.removesuffix("Request")
        title = f"{api} (API key {key})"
        sources[snake_case(api) + ".py"] = ModuleWriter(title, messages).source()
    for file, module in FAMILIES.items():
        definitions = json.loads((HERE / "definitions" / file).read_text())
        title = f"The messages of {file}"
        sources[module + ".py"] = ModuleWriter(
            title, [parse_message(d) for d in definitions]
        ).source()
    return sources


def main() -> int:
    """Write the message modules and remove old ones; with --check only compare.

    Return 1, and print the names of the modules, if the comparison finds a difference; else 0.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    folder = HERE / "messages"
    wrong = []
    sources = modules()
    for name, source in sources.items():
        path = folder / name
        if path.exists() and path.read_text() == source:
            continue
        wrong.append(name)
        if not check:
            path.write_text(source)
    for path in folder.glob("*.py"):
        if path.name != "__init__.py" and path.name not in sources:
            wrong.append(path.name)
            if not check:
                path.unlink()
    if check and wrong:
        print(f"not what the generator writes: {', '.join(wrong)}; run python -m protocol.generate")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
