"""`docs/compatibility.md`, generated from answers to ApiVersions and the data beside this file."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from tests.conformance.changes import changes_table
from tests.conformance.clients import CLIENTS
from tests.conformance.other_releases import other_releases
from tests.conformance.served_apis import Ranges, of_kafka, of_ottla
from tests.conformance.suites import SUITES, Suite

HEAD = """\
# Compatibility

`python -m tests.conformance` generates this page. A test compares the table of APIs with the
answers of a node. {differences} lists the deliberate differences from Apache Kafka.

## APIs and versions

The table has the versions of each API that Ottla and Apache Kafka name in their answers to
ApiVersions. Clients and brokers use the broker listener; controllers, the brokers that send
requests to them, and some admin clients use the controller listener. If a cell is empty,
ApiVersions does not name the API on that listener.

"""

SUITES_HEAD = """\
## Public test suites

The suites of kafka-python and aiokafka also ran against Apache Kafka 4.4.0, with the same counts.
The tests of librdkafka's runner that failed on Ottla also ran there. The other suites ran against
Ottla only. The last row is of this repository's own tests. This repository has none of the public
suites: build each in its own folder, as its authors describe, and run the commands below there.
`ottla` must be on the PATH; `ottla serve` needs a shell of its own. The broker listens on
127.0.0.1:9092 unless the text says otherwise. $OTTLA is the folder of this repository.

"""

CLIENTS_HEAD = """\
## Clients and tools

| client | version | tested features | tests |
| --- | --- | --- | --- |
"""

DIFFERENCES = "[differences.md](differences.md)"


def page() -> str:
    """Return the whole document."""
    kafka, ottla = of_kafka(), of_ottla()
    parts = [HEAD.format(differences=DIFFERENCES), _summary(kafka, ottla), _apis(kafka, ottla)]
    parts += [changes_table(), other_releases(), "\n", SUITES_HEAD, _suites(), "\n", CLIENTS_HEAD]
    parts += [f"| {one.name} | {one.version} | {one.tried} | {one.by} |\n" for one in CLIENTS]
    return "".join(parts)


def _summary(kafka: dict[str, Ranges], ottla: dict[str, Ranges]) -> str:
    broker = f"{len(ottla['broker'])} of {len(kafka['broker'])}"
    controller = f"{len(ottla['controller'])} of {len(kafka['controller'])}"
    return (
        f"On the broker listener, Ottla names {broker} APIs that Kafka names there; on the "
        f"controller listener, {controller}. The versions of each API that Ottla names are the "
        "same as Kafka's.\n\n"
    )


def _apis(kafka: dict[str, Ranges], ottla: dict[str, Ranges]) -> str:
    lines = [
        "| key | API | broker: Kafka | broker: Ottla | controller: Kafka | controller: Ottla |\n",
        "| --- | --- | --- | --- | --- | --- |\n",
    ]
    tables = (kafka["broker"], ottla["broker"], kafka["controller"], ottla["controller"])
    for key in sorted({key for table in tables for key in table}):
        cells = [_versions(table, key) for table in tables]
        lines.append(f"| {int(key)} | {_name(key)} | " + " | ".join(cells) + " |\n")
    return "".join([*lines, "\n"])


def _name(key: ApiKey) -> str:
    return "".join(word.capitalize() for word in key.name.split("_"))


def _versions(table: Ranges, key: ApiKey) -> str:
    if key not in table:
        return ""
    oldest, latest = table[key]
    return str(oldest) if oldest == latest else f"{oldest}–{latest}"


def _suites() -> str:
    lines = [
        "| suite | version | tests that passed | failed; passed on Kafka or not run there "
        "| failed on Kafka, too | skipped |\n",
        "| --- | --- | --- | --- | --- | --- |\n",
    ]
    for suite in SUITES:
        ours, both = _counts(suite)
        lines.append(
            f"| {suite.name} | {suite.version} | {suite.passed} | {ours} | {both} "
            f"| {suite.skipped} |\n"
        )
    return "".join([*lines, *(_details(suite) for suite in SUITES)])


def _counts(suite: Suite) -> tuple[int, int]:
    both = sum(one.count for one in suite.failures if one.on_kafka.startswith("fails"))
    return sum(one.count for one in suite.failures) - both, both


def _details(suite: Suite) -> str:
    text = f"\n### {suite.name} {suite.version}\n\nSource: {suite.source}. Run on {suite.when}.\n"
    text += f"\n```console\n{suite.command}\n```\n"
    if suite.note:
        text += f"\n{suite.note}\n"
    if suite.failures:
        text += "\n| test that failed | on Apache Kafka | why |\n| --- | --- | --- |\n"
    for failure in suite.failures:
        text += f"| {failure.test} | {failure.on_kafka} | {failure.why} |\n"
    return text
