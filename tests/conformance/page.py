"""`docs/compatibility.md` from what ApiVersions answers and from the data beside this file."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from tests.conformance.clients import CLIENTS
from tests.conformance.served_apis import Ranges, of_kafka, of_ottla
from tests.conformance.suites import SUITES, Suite

HEAD = """\
# Compatibility

Made by `python -m tests.conformance`; a test holds it to what a node answers. What differs on
purpose is listed in {differences}.

## APIs and versions

What ApiVersions names, on Ottla and on Apache Kafka 4.3.0. The broker listener is the one of
clients; the controller listener is the one of the quorum. An empty cell: not named there.

"""

SUITES_HEAD = """\
## Public test suites

kafka-python's and aiokafka's suites ran against Apache Kafka 4.3.0 too, but for what needs TLS,
SASL and ACLs, where nothing failed on Ottla; the others ran against Ottla alone. A suite is built
in a folder of its own, as its authors say; none of it is in this repository. For the commands, a
broker listens on 127.0.0.1:9092, and $OTTLA is the folder of this repository.

"""

CLIENTS_HEAD = """\
## Clients and tools

| client | version | tried | by |
| --- | --- | --- | --- |
"""

DIFFERENCES = "[differences.md](differences.md)"


def page() -> str:
    """The whole document."""
    kafka, ottla = of_kafka(), of_ottla()
    parts = [HEAD.format(differences=DIFFERENCES), _summary(kafka, ottla), _apis(kafka, ottla)]
    parts += [SUITES_HEAD, _suites(), "\n", CLIENTS_HEAD]
    parts += [f"| {one.name} | {one.version} | {one.tried} | {one.by} |\n" for one in CLIENTS]
    return "".join(parts)


def _summary(kafka: dict[str, Ranges], ottla: dict[str, Ranges]) -> str:
    broker = f"{len(ottla['broker'])} of {len(kafka['broker'])}"
    controller = f"{len(ottla['controller'])} of {len(kafka['controller'])}"
    return (
        f"Named by Ottla: {broker} APIs on the broker listener, {controller} on the controller "
        "listener. Each has Kafka's whole range of versions.\n\n"
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
        "| suite | version | passed | fails, not seen to fail on Kafka "
        "| fails on Kafka set up likewise | skipped |\n",
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
    text = f"\n### {suite.name} {suite.version}\n\n{suite.source}, run on {suite.when}.\n"
    text += f"\n```console\n{suite.command}\n```\n"
    if suite.note:
        text += f"\n{suite.note}\n"
    if suite.failures:
        text += "\n| not passed | on Apache Kafka 4.3.0 | why |\n| --- | --- | --- |\n"
    for failure in suite.failures:
        text += f"| {failure.test} | {failure.on_kafka} | {failure.why} |\n"
    return text
