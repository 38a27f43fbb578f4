"""The live view in Chromium: its memory stays bounded, and an opened record stays in place."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from console.messages.tailing import RECORDS_A_LOOK
from tests.compat.console.scene import ORDERS, TRICKLE_FIRST, trickle
from tests.tools.console import Tab, chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PER_SECOND = 120
"""About as many records as a tab gets at most."""
WARM_RECORDS, RECORDS = 1_000, 2_500
GROWTH_BYTES_MAX = 6 * 1024 * 1024
"""A heap with 200 rows varies by some 3 MiB. It grew by 16 MiB in this test when rows leaked."""
ROWS = 200
WRITTEN_WHILE_HIDDEN = 300
SET_HIDDEN = """
hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}
"""
UNTIL_ORDER = """
number => new Promise(resolve => {
  function look() {
    const text = document.querySelector("tr.line")?.innerText ?? "";
    if (!(Number(/"order":\\s*(\\d+)/.exec(text)?.[1]) >= number)) return;
    observer.disconnect();
    resolve();
  }
  const observer = new MutationObserver(look);
  observer.observe(document.querySelector("main"), { childList: true, subtree: true });
  look();
})
"""
"""Resolves when the newest record on the page is this order or a later one."""


def test_the_heap_of_the_live_view_stays_and_so_does_an_open_record(
    link: str, bootstrap: str
) -> None:
    with trickle(bootstrap, PER_SECOND), chromium() as browser:
        tab = Tab(browser, link)
        page = tab.go(f"/topics/{ORDERS}/messages?live=1")
        _wait_for_order(tab, TRICKLE_FIRST + WARM_RECORDS)
        before = tab.heap_bytes()
        _wait_for_order(tab, TRICKLE_FIRST + WARM_RECORDS + RECORDS)
        assert page.locator("tr.line").count() == ROWS
        growth = tab.heap_bytes() - before
        assert growth < GROWTH_BYTES_MAX, f"{RECORDS} records took {growth / 1024:,.0f} KiB"

        # The rows move: a click that waits until its row stands still would wait for long.
        page.locator("tr.line").first.get_by_role("button").dispatch_event("click")
        opened = page.locator("tr.line.is-open")
        opened.wait_for()
        place = opened.bounding_box()
        page.get_by_text("new records waiting").wait_for()
        assert opened.bounding_box() == place
        tab.wait("Paused while 1 record stands open")
        page.get_by_role("button", name="Show new records").click()
        opened.wait_for(state="detached")
        tab.wait("live")

        _search_live(tab)
        tab.close()
    _hide_and_return(link, bootstrap)


def _search_live(tab: Tab) -> None:
    """Show only new records that match, and stop and go on without losing the search."""
    page = tab.page
    page.get_by_role("searchbox", name="Find in keys").fill("Quito")
    page.get_by_role("button", name="Search in the live view").click()
    tab.wait("matching record")
    assert "live=1" in page.url
    page.locator("tr.line").nth(3).wait_for()
    texts = page.locator("tr.line").all_inner_texts()
    assert all("Quito" in text for text in texts), texts
    page.get_by_role("button", name="Stop live view").click()
    tab.wait("matches for")
    assert "q=Quito" in page.url


def _hide_and_return(link: str, bootstrap: str) -> None:
    """Hide a tab with the live view, write records, and see what the page says about them."""
    with chromium() as browser:
        tab = Tab(browser, link)
        page = tab.go(f"/topics/{ORDERS}/messages?live=1&partition=0")
        page.locator(".badge", has_text="live").wait_for()
        page.evaluate(SET_HIDDEN, True)
        page.locator(".badge", has_text="connecting").wait_for()
        producer = Producer({"bootstrap.servers": bootstrap})
        for number in range(WRITTEN_WHILE_HIDDEN):
            producer.produce(ORDERS, f"hidden-{number}", partition=0)
        assert producer.flush(60) == 0
        page.evaluate(SET_HIDDEN, False)
        tab.wait(f"{WRITTEN_WHILE_HIDDEN} records were written while this tab was hidden")
        first = page.locator("tr.line").first
        assert f"hidden-{WRITTEN_WHILE_HIDDEN - 1}" in first.inner_text()
        assert page.locator("tr.line").count() == RECORDS_A_LOOK
        tab.wait(f"{WRITTEN_WHILE_HIDDEN - RECORDS_A_LOOK} of them are skipped")
        tab.close()


def _wait_for_order(tab: Tab, number: int) -> None:
    """Wait until the newest record on the page is this order or a later one."""
    tab.page.evaluate(UNTIL_ORDER, number)
