"""Each view in Chromium: it shows what is there, at a desk and on a phone, and nothing goes wrong.

`python -m tests.compat.console.large` does the same with ten thousand topics and a million records,
and while a broker dies.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.console.scene import LAGGING, ORDERS
from tests.compat.console.views import VIEWS
from tests.tools.console import DESK, LAPTOP, PHONE, Tab, chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SMALL_PHONE = (320, 700)
"""The width that WCAG 2.2 names: no page scrolls sideways there."""


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (SMALL_PHONE, "dark")])
def test_each_view(link: str, size: tuple[int, int], scheme: str) -> None:
    with chromium() as browser:
        tab = Tab(browser, link, size=size, scheme=scheme)
        own_parts = "getComputedStyle(document.documentElement).colorScheme"
        assert tab.page.evaluate(own_parts) == scheme  # checkboxes are the browser's
        for address, text in VIEWS.items():
            tab.go(address)
            tab.wait(text)
            assert not tab.is_wider_than_its_window(), address
            unnamed = tab.page.locator("button:not([aria-label])").evaluate_all(
                "all => all.filter(one => one.checkVisibility() && !one.innerText.trim()).length"
            )
            assert unnamed == 0, f"{address}: a button without a name"
        tab.close()


def test_a_long_name_leaves_room_for_the_other_columns(link: str, bootstrap: str) -> None:
    """A topic's name has up to 249 characters."""
    name = "n" * 249
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(60)
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(name, "value", "key")
    assert producer.flush(60) == 0
    with chromium() as browser:
        tab = Tab(browser, link)
        page = tab.go("/topics")
        messages = page.get_by_role("link", name=f"messages of {name}")
        for size in (DESK, LAPTOP):
            tab.resize(size)
            assert tab.is_within_its_window(messages), size
        messages.click()
        page.get_by_role("link", name="Offset 0 of partition 0").click()
        page.locator(".whole").wait_for()
        assert not tab.is_wider_than_its_window()
        tab.close()


def test_what_records_hold_is_shown_and_never_run(link: str) -> None:
    with chromium() as browser:
        tab = Tab(browser, link)
        page = tab.go(f"/topics/{ORDERS}/messages")
        tab.wait('<img src=x onerror="window.bad=1">')
        assert page.locator("main img").count() == 0
        page.get_by_role("searchbox").first.fill('"city": "Quito"')
        page.get_by_role("button", name="Search").click()
        tab.wait("matches for")
        assert page.evaluate("window.bad") is None
        tab.close()


def test_the_record_that_a_group_reads_next_opens_by_its_offset(link: str) -> None:
    """From the overview to the record, its neighbours, its bytes on disk, its place in lists."""
    with chromium() as browser:
        tab = Tab(browser, link)
        page = tab.page
        page.get_by_role("link", name=LAGGING).first.click()
        tab.wait("behind since before")
        row = page.get_by_role("table", name="Partitions").locator("tbody tr").first
        for size in (PHONE, DESK):
            tab.resize(size)
            assert tab.is_within_its_window(row.get_by_role("link", name="offset ")), size
        partition = row.locator("td").first.inner_text().rpartition("-")[2]
        next_record = row.get_by_role("link", name="offset ")
        offset = int(next_record.inner_text().removeprefix("offset ").replace(",", ""))
        next_record.click()
        _wait_for_record(tab, partition, offset)
        assert f"offset {offset:,} · 2" in page.locator(".whole").inner_text()

        page.get_by_role("link", name="Next record").click()
        _wait_for_record(tab, partition, offset + 1)
        page.get_by_role("link", name="Previous record").click()
        _wait_for_record(tab, partition, offset)
        assert page.get_by_label("Batch").get_by_text("CreateTime").count() == 1

        page.get_by_role("link", name="Show its segment and bytes").click()
        selected = page.get_by_role("table", name="Records of the batch").locator(
            "tr[aria-selected=true]"
        )
        selected.get_by_text(f"{offset:,}", exact=True).wait_for()
        selected.get_by_role("link", name=f"Record at offset {offset}").click()
        _wait_for_record(tab, partition, offset)

        page.get_by_role("link", name="Show in the list").click()
        first = page.get_by_role("table", name=f"Records of {ORDERS}").locator("tr.line").first
        first.get_by_role("link", name=f"Offset {offset} of partition {partition}").click()
        _wait_for_record(tab, partition, offset)

        tab.go(f"/topics/{ORDERS}/messages/{partition}/999999")
        tab.wait("is not written yet")
        page.get_by_role("link", name="Show the nearest record").click()
        page.locator(".whole").wait_for()
        tab.close()


def _wait_for_record(tab: Tab, partition: str, offset: int) -> None:
    """Wait until the page of a record shows this one, open, with its value."""
    name = f"{ORDERS}-{partition}, offset {offset:,}"
    tab.page.get_by_role("heading", name=name, level=1).wait_for()
    tab.page.get_by_label("Record").get_by_text('"order"').wait_for()


PRESS_BOTH = """(keys) => {
  for (const key of keys) document.body.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true }));
}"""
"""Press keys in one turn of the page: it ignores a second key that comes after more than 1.2 s."""


def test_keys_lead_from_view_to_view(link: str) -> None:
    with chromium() as browser:
        tab = Tab(browser, link)
        tab.wait("Healthy")
        tab.page.evaluate(PRESS_BOTH, "gt")
        tab.page.get_by_role("heading", name="Topics", level=1).wait_for()
        tab.wait(ORDERS)
        tab.page.keyboard.press("/")
        tab.page.keyboard.type("paym")
        tab.page.get_by_role("link", name="payments", exact=True).wait_for()
        tab.page.get_by_role("link", name=ORDERS, exact=True).wait_for(state="detached")
        tab.close()


def test_back_and_a_reload_show_the_same(link: str) -> None:
    with chromium() as browser:
        tab = Tab(browser, link)
        page = tab.go("/topics")
        page.get_by_role("searchbox").fill("rs")
        page.get_by_role("button", name="Partitions").click()
        page.get_by_role("columnheader", name="Partitions ↓").wait_for()
        page.get_by_role("link", name=ORDERS, exact=True).click()
        tab.wait("Leader")
        page.go_back()
        page.get_by_role("columnheader", name="Partitions ↓").wait_for()
        assert page.get_by_role("searchbox").input_value() == "rs"
        page.get_by_role("link", name="payments", exact=True).wait_for(state="detached")

        tab.go(f"/topics/{ORDERS}/messages?partition=1,3")
        page.get_by_role("columnheader", name="Partition").wait_for()
        page.get_by_role("button", name="Older").click()
        tab.wait("older records, of")
        row = page.locator("tr.line").nth(2)
        name = str(row.get_by_role("button").get_attribute("aria-label"))
        row.get_by_role("button").click()
        page.locator("tr.line.is-open").wait_for()
        page.reload()
        page.locator("tr.line.is-open").get_by_role("button", name=name, exact=True).wait_for()
        page.locator("tr.more .whole").wait_for()
        page.get_by_role("button", name="Newest").click()
        tab.wait("The newest 50 of")
        page.go_back()
        page.locator("tr.line.is-open").get_by_role("button", name=name, exact=True).wait_for()

        tab.go("/groups")
        page.get_by_role("searchbox").fill(LAGGING)
        page.reload()
        page.get_by_role("link", name=LAGGING).wait_for()
        assert page.get_by_role("searchbox").input_value() == LAGGING
        tab.go("/configs")
        page.get_by_label("Changed only").uncheck()
        page.reload()
        tab.wait("log.retention.hours")
        assert not page.get_by_label("Changed only").is_checked()
        tab.close()


def test_a_segment_opens_down_to_its_bytes(link: str) -> None:
    with chromium() as browser:
        tab = Tab(browser, link)
        page = tab.go(f"/segments/{ORDERS}/0")
        page.locator(".seg-box").first.click()
        page.get_by_role("table", name="Batches").locator("tbody button").first.click()
        tab.wait("The header: 61 bytes")
        page.locator(".seg-fields button", has_text="crc").click()
        tab.wait("The CRC matches the bytes.")
        page.get_by_role("table", name="Records of the batch").locator("tbody button").first.click()
        tab.wait("timestampDelta")
        page.locator(".seg-dump").last.locator("i").first.hover()
        page.locator(".seg-fields").last.locator("button.on", has_text="length").wait_for()
        page.get_by_role("button", name="Look up").click()
        tab.wait("The offset index")
        assert not tab.is_wider_than_its_window()
        tab.close()
