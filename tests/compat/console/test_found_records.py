"""What a search in Chromium finds: by the decoded text, by fields; marked, and saved to a file."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.launcher import ottla_command
from tests.tools.console import Tab, chromium, running_console

fastavro = pytest.importorskip("fastavro")

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

JSON_TOPIC, AVRO_TOPIC, COPY = "found", "found.avro", "found.copy"
RECORDS, PARTITIONS = 300, 3
LONG_AT = 500_000
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID"]}},
    ],
}


def order(number: int) -> dict[str, object]:
    """Return the value of a record: each third is paid, one in a hundred is from Tokyo."""
    status = "PAID" if number % 3 == 0 else "NEW"
    return {"n": number, "status": status, "city": "東京" if number % 100 == 7 else "Oslo"}


def fill(bootstrap: str) -> None:
    """Create and fill the topics of this module."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics(
        [NewTopic(JSON_TOPIC, PARTITIONS, 1), NewTopic(AVRO_TOPIC, 1, 1), NewTopic(COPY, 1, 1)]
    )
    for one in made.values():
        one.result(60)
    producer = Producer({"bootstrap.servers": bootstrap})
    schema = fastavro.parse_schema(SCHEMA)
    for number in range(RECORDS):
        producer.produce(
            JSON_TOPIC,
            json.dumps(order(number)),
            f"key-{number}",
            number % PARTITIONS,
            headers=[("source", b"web")],
        )
        data = io.BytesIO()
        status = str(order(number)["status"])
        fastavro.schemaless_writer(data, schema, {"id": 2**53 + number, "status": status})
        producer.produce(AVRO_TOPIC, data.getvalue())
    producer.produce(JSON_TOPIC, "x" * LONG_AT + "needle" + "y" * 400_000, "long", 0)
    assert producer.flush(60) == 0


@pytest.fixture(scope="module")
def filled(bootstrap: str) -> str:
    fill(bootstrap)
    return bootstrap


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def tab(browser: Browser, filled: str, tmp_path: Path) -> Iterator[Tab]:
    schema = tmp_path / "order.avsc"
    schema.write_text(json.dumps(SCHEMA))
    with running_console(filled, ["--avro-schema", f"{AVRO_TOPIC}={schema}"]) as link:
        tab = Tab(browser, link)
        yield tab
        tab.close()


def search(tab: Tab, topic: str, text: str = "", condition: str = "") -> None:
    """Search a topic by the form, and wait for the end."""
    page = tab.go(f"/topics/{topic}/messages")
    page.get_by_role("searchbox").first.fill(text)
    page.get_by_role("textbox", name="Filter by fields").fill(condition)
    page.get_by_role("button", name="Search").click()
    tab.wait("finished")


def marks(tab: Tab) -> list[str]:
    """Return the marked texts of all rows."""
    return tab.page.locator("table.records tr.line mark").all_inner_texts()


def test_a_search_finds_what_the_page_shows(tab: Tab) -> None:
    search(tab, JSON_TOPIC, "東京")
    assert marks(tab) == ["東京"] * 3
    search(tab, AVRO_TOPIC, str(2**53 + 7))
    assert marks(tab) == [str(2**53 + 7)]
    tab.wait("decodes each record")
    search(tab, JSON_TOPIC, "needle")
    assert marks(tab) == ["needle"]
    tab.page.get_by_role("button", name="Record 0-").click()
    tab.wait(f"First match, at character {LONG_AT + 1:,} of the value")
    page = tab.go(f"/topics/{JSON_TOPIC}/messages?q=(&regex=1")
    page.get_by_text("this is not a regular expression").wait_for()
    assert page.get_by_text("0 matches").count() == 0
    assert page.get_by_text("Starting").count() == 0
    assert {error.partition(" of ")[2][:3] for error in tab.said_wrong()} == {"400"}


def test_a_filter_selects_and_its_records_are_saved(tab: Tab, filled: str, tmp_path: Path) -> None:
    condition = 'value.status == "PAID" && value.n >= 150 and headers.source == "web"'
    wanted = [number for number in range(150, RECORDS) if number % 3 == 0]
    search(tab, JSON_TOPIC, condition=condition)
    tab.wait(f"{len(wanted)} matches for the filter")
    assert set(marks(tab)) == {"PAID"}
    tab.page.reload()  # the filter stands in the address
    tab.wait(f"{len(wanted)} matches for the filter")
    tab.page.get_by_text("Export", exact=True).click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("link", name="NDJSON").click()
    path = tmp_path / "found.ndjson"
    download.value.save_as(path)
    tab.wait(f"Saved {len(wanted)} records")
    with path.open() as lines:
        command = ottla_command("produce", COPY, "--json", "-b", filled)
        subprocess.run(command, stdin=lines, check=True, timeout=60)
    copied = consumed(filled, len(wanted))
    assert sorted(json.loads(value)["n"] for _, value, _ in copied) == wanted
    assert {headers for *_, headers in copied} == {(("source", b"web"),)}


def test_several_partitions(tab: Tab) -> None:
    page = tab.go(f"/topics/{JSON_TOPIC}/messages")
    page.locator("label", has_text="Partition").get_by_role("combobox").select_option("several")
    page.get_by_placeholder("0,3-5").fill("1-2")
    page.get_by_role("button", name="Show", exact=True).click()
    tab.wait("The newest 50 of 200 offsets")
    partitions = page.locator("table.records tr.line td:nth-child(2)").all_inner_texts()
    assert set(partitions) == {"1", "2"}


def consumed(
    bootstrap: str, number: int
) -> list[tuple[bytes | None, bytes, tuple[tuple[str, bytes | None], ...]]]:
    """Return the keys, values and headers of the first records of the copy."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "copy"})
    consumer.assign([TopicPartition(COPY, 0, 0)])
    records = []
    while len(records) < number:
        message = consumer.poll(60)
        assert message is not None and message.error() is None
        records.append((message.key(), message.value(), tuple(message.headers() or ())))
    consumer.close()
    return records
