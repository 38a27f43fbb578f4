"""Each view in Chromium: it shows what is there, at a desk and on a phone, and nothing goes wrong.

`python -m tests.compat.console.large` does the same with ten thousand topics and a million records,
and while a broker dies.
"""

from __future__ import annotations

import pytest

from tests.compat.console.scene import LAGGING, ORDERS
from tests.tools.console import DESK, PHONE, Tab, chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

VIEWS = {
    "/": "Healthy",
    "/topics": ORDERS,
    f"/topics/{ORDERS}": "Partitions",
    f"/topics/{ORDERS}/messages": "The newest 50 of 401 offsets",
    "/groups": LAGGING,
    f"/groups/{LAGGING}": "Lag over the last hour",
    "/replicas": f"{ORDERS}-0",
    "/segments": f"{ORDERS}-0",
    f"/segments/{ORDERS}/0": "high watermark",
    "/flow": "How a record flows",
    "/quorum": "Leader",
    "/configs": "log.dirs",
    "/access": "User:alice",
}
"""What each shows once it has its answer."""


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")])
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
                "all => all.filter(one => !one.innerText.trim()).length"
            )
            assert unnamed == 0, f"{address}: a button without a name"
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


def test_a_stranger_finds_the_record_that_a_group_hangs_on(link: str) -> None:
    """Who lags, since when, and what is in the record: three clicks from the overview."""
    with chromium() as browser:
        tab = Tab(browser, link)
        tab.page.get_by_role("link", name=LAGGING).first.click()
        tab.wait("behind since before")
        tab.page.locator(f'a[href*="/topics/{ORDERS}/messages?"]').first.click()
        tab.wait('"order"')
        tab.close()


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
        tab.page.get_by_role("link", name="payments").wait_for()
        tab.page.get_by_role("link", name=ORDERS, exact=True).wait_for(state="detached")
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
