"""An opened record in Chromium: what the page shows of it, and what a copy of it makes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.launcher import ottla_command
from tests.tools.console import Tab, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

TOPIC, PARTITION = "odd", 1
JSON = '{"10":0.1000000000000000055,"2":1e400,"a":1.10,"a":-0.0,"s":"\\u6771","long":"%s"}'
NUMBER = (2**53 + 1).to_bytes(8, "big")


class Kept(NamedTuple):
    """The parts of a record that a copy must keep."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


MANY_HEADERS: list[tuple[str, bytes | None]] = [
    ("n" * 300, b"behind a long name"),
    ("number", NUMBER),
    ("null", None),
    ("empty", b""),
    *((f"h{number}", b"v" * number) for number in range(250)),
]
RECORDS = (
    Kept(b"large", (JSON % ("x" * 300_000)).encode(), MANY_HEADERS),
    Kept(b"k", None, []),
    Kept(b"", b"", [("", b"empty name"), ("lines", b"a\r\nb")]),
    Kept(
        b"\xff\x00",
        b"it's $(x) `y`\r\n50% \\n\x1f",
        [("a", b"1"), ("a", b"\xff\x01"), ("it's", None)],
    ),
)
KCAT_CANNOT = {
    0: "kcat cannot write the zero byte in header number",
    2: 'kcat cannot write a header with the name ""',
}


@pytest.fixture(scope="module")
def topic(bootstrap: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(TOPIC, 2, 1), NewTopic("copies", 1, 1)]).values():
        made.result(60)
    producer = Producer({"bootstrap.servers": bootstrap})
    for record in RECORDS:
        producer.produce(TOPIC, record.value, record.key, PARTITION, headers=record.headers)
    assert producer.flush(60) == 0
    return TOPIC


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def tab(browser: Browser, link: str) -> Iterator[Tab]:
    tab = Tab(browser, link)
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield tab
    tab.close()


def opened(tab: Tab, offset: int) -> Locator:
    """Open a record of the topic, and return what the page shows of it."""
    tab.go(f"/topics/{TOPIC}/messages?partition={PARTITION}&from={offset}&order=oldest&at={offset}")
    fold = tab.page.get_by_role("button", name=f"Record {PARTITION}-{offset}", exact=True)
    fold.wait_for()
    if fold.get_attribute("aria-expanded") == "false":
        fold.click()
    shown = tab.page.locator(".whole").filter(has_text=f"offset {offset}")
    shown.get_by_role("heading", name="Value").wait_for()
    return shown


def copied(tab: Tab, shown: Locator, item: str) -> str:
    """Copy a text of an opened record, and return the clipboard."""
    tab.page.evaluate("navigator.clipboard.writeText('nothing')")
    shown.locator("summary", has_text="Copy").click()
    shown.get_by_role("button", name=item, exact=True).click()
    shown.get_by_text(f"Copied: {item}").wait_for()
    return str(tab.page.evaluate("navigator.clipboard.readText()"))


def newest(bootstrap: str) -> Kept:
    """Read the newest record of the partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none"})
    try:
        place = TopicPartition(TOPIC, PARTITION)
        place.offset = consumer.get_watermark_offsets(place, timeout=60)[1] - 1
        consumer.assign([place])
        message = consumer.poll(60)
        assert message is not None
        assert message.error() is None
        return Kept(message.key(), message.value(), message.headers() or [])
    finally:
        consumer.close()


def test_an_opened_record_is_shown_as_it_is(tab: Tab, topic: str) -> None:
    shown = opened(tab, 0)
    tree = shown.locator(".tree")
    tree.wait_for()
    lines = [line.strip() for line in tree.inner_text().splitlines()]
    assert lines[1:5] == [
        '"10": 0.1000000000000000055,',
        '"2": 1e400,',
        '"a" repeated: 1.10,',
        '"a" repeated: -0.0,',
    ]
    assert lines[5] == '"s": "東",'
    shown.get_by_text("Show all 300,002 characters").wait_for()

    shown.get_by_text("As int64: 9007199254740993").wait_for()
    name = shown.get_by_text("n" * 300)
    box = name.bounding_box()
    assert box is not None
    assert box["height"] > box["width"] / 4, "the name has several lines"
    value = shown.get_by_text("behind a long name").bounding_box()
    assert value is not None
    assert value["width"] > value["height"], "the value has not a character a line"
    assert not tab.is_wider_than_its_window()

    shown.get_by_role("button", name="Show all 254 headers").click()
    last = shown.locator("ul.headers li").nth(253)
    assert last.inner_text().startswith("h249\n" + "v" * 249)

    shown = opened(tab, 1)
    shown.get_by_text("a tombstone").wait_for()


def test_without_the_clipboard_of_https_a_selected_text_is_copied(tab: Tab, topic: str) -> None:
    shown = opened(tab, 2)
    command = copied(tab, shown, "Record as JSON")
    headers = copied(tab, shown, "Headers as JSON")
    tab.page.evaluate(
        "window.read = navigator.clipboard.readText.bind(navigator.clipboard);"
        "Object.defineProperty(navigator, 'clipboard', { value: undefined })"
    )
    shown.locator("summary", has_text="Copy").click()
    shown.get_by_role("button", name="Record as JSON").click()
    dialog = tab.page.get_by_role("dialog", name="Copied")
    dialog.wait_for()
    assert dialog.get_by_label("Text to copy").input_value() == command
    assert tab.page.evaluate("read()") == command != headers


@pytest.mark.parametrize("offset", range(len(RECORDS)))
def test_what_is_copied_makes_the_same_record(
    tab: Tab, topic: str, bootstrap: str, offset: int
) -> None:
    record = RECORDS[offset]
    shown = opened(tab, offset)
    if record.value:
        assert copied(tab, shown, "Value").encode() == record.value

    line = copied(tab, shown, "Record as JSON")
    words = ottla_command("produce", TOPIC, "--json", "-p", str(PARTITION), "-b", bootstrap)
    subprocess.run(words, input=line.encode(), check=True)
    assert newest(bootstrap) == record

    command = copied(tab, shown, "ottla produce command")
    _run(command.replace("| ottla", f"| {' '.join(ottla_command())}"))
    assert newest(bootstrap) == record

    if offset in KCAT_CANNOT:
        shown.locator("summary", has_text="Copy").click()
        shown.get_by_role("button", name="kcat command").click()
        shown.get_by_text(KCAT_CANNOT[offset]).wait_for()
        return
    command = copied(tab, shown, "kcat command")
    if shutil.which("kcat") is not None:
        _run(command)
        assert newest(bootstrap) == record


def test_a_record_that_is_edited_and_sent_again_keeps_the_rest(
    tab: Tab, topic: str, bootstrap: str
) -> None:
    record = RECORDS[3]
    assert record.value is not None
    shown = opened(tab, 3)
    shown.get_by_role("button", name="Send again").click()
    dialog = tab.page.get_by_role("dialog")
    assert dialog.get_by_label("Format of Value").input_value() == "escaped"
    dialog.get_by_label("Value", exact=True).press_sequentially("!")
    dialog.get_by_label("Timestamp").select_option("record")
    dialog.get_by_label("Topic").press("Enter")
    dialog.wait_for(state="detached")
    kept = newest(bootstrap)
    assert sorted(kept.value or b"") == sorted(record.value + b"!")
    assert (kept.value or b"").replace(b"!", b"") == record.value
    assert (kept.key, kept.headers) == (record.key, record.headers)

    shown.get_by_role("button", name="Send again").click()
    dialog.get_by_label("Topic").fill("copies")
    dialog.get_by_label("Topic").press("Enter")
    dialog.wait_for(state="detached")
    tab.page.get_by_role("heading", name="copies-0, offset 0", level=1).wait_for()
    tab.page.get_by_role("button", name="Send again").click()
    dialog.get_by_label("Topic").press("Enter")
    tab.page.get_by_role("heading", name="copies-0, offset 1", level=1).wait_for()


def _run(command: str) -> None:
    """Run a command in a shell that reads it from standard input, as from a terminal."""
    subprocess.run(["bash"], input=command.encode(), check=True)
