"""What the console changes, by its dialogs in Chromium: each asks first, then shows what came."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.console.scene import LAGGING
from tests.tools.console import Tab, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

LARGE_BYTES = 10_000_000
RECORD = re.compile(r"^Record \d")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def tab(browser: Browser, link: str) -> Iterator[Tab]:
    tab = Tab(browser, link)
    yield tab
    tab.close()


def dialog(tab: Tab, button: str) -> Locator:
    """What a button opens."""
    tab.page.get_by_role("button", name=button).first.click()
    return tab.page.get_by_role("dialog")


def confirm(opened: Locator, action: str) -> None:
    """Press the button that does it; the dialog closes once it is done."""
    opened.get_by_role("button", name=action, exact=True).click()
    opened.wait_for(state="detached")


def test_a_topic_from_its_first_record_to_its_end(tab: Tab) -> None:
    tab.go("/topics")
    opened = dialog(tab, "Create a topic")
    opened.get_by_label("Name").fill("returns")
    opened.get_by_label("Partitions").fill("2")
    opened.get_by_label("Configs, one KEY=VALUE per line").fill("max.message.bytes=12000000")
    confirm(opened, "Create")
    tab.go("/topics/returns")
    tab.wait("12000000")

    opened = dialog(tab, "Set a config")
    opened.get_by_label("Key").fill("retention.ms")
    value = opened.get_by_label("Value")
    assert value.get_attribute("spellcheck") == "false"
    value.fill("soon")
    value.press("Enter")
    opened.get_by_role("alert").wait_for()
    assert tab.said_wrong() == ["the server responded with a status of 409 (Conflict)"]
    value.fill("604800000")
    opened.get_by_text("Value: 7 d").wait_for()
    value.press("Enter")
    opened.get_by_text("It sets retention.ms to 604800000 (7 d).").wait_for()
    value.press("Enter")
    opened.wait_for(state="detached")
    tab.wait("604800000")
    opened = dialog(tab, "Add partitions")
    opened.get_by_label("New number of partitions").press("Enter")
    opened.wait_for(state="detached")
    tab.page.get_by_role("table", name="Partitions").locator("tbody tr").nth(2).wait_for()

    tab.go("/topics/returns/messages")
    tab.wait("The topic is empty")
    opened = dialog(tab, "Write a record")
    opened.get_by_label("No key (null)").uncheck()
    opened.get_by_label("Key", exact=True).fill("R-1")
    opened.get_by_label("Value", exact=True).fill('{"why": "too small"}')
    confirm(opened, "Write the record")
    tab.wait("R-1")
    tab.page.get_by_role("button", name=RECORD).first.click()
    opened = dialog(tab, "Send again")
    confirm(opened, "Write the record")
    tab.page.get_by_role("button", name=RECORD).nth(1).wait_for()

    tab.go("/topics/returns")
    config = tab.page.get_by_role("row").filter(has_text="604800000")
    config.get_by_role("button", name="Change retention.ms").click()
    opened = tab.page.get_by_role("dialog")
    opened.get_by_label("Value").fill("1")
    opened.get_by_role("button", name="Check").click()
    opened.get_by_text("Everything is deleted: up to 2 of 2 records").wait_for()
    opened.get_by_role("button", name="Cancel").click()

    tab.go("/topics/returns")
    opened = dialog(tab, "Delete")
    assert opened.get_by_role("button", name="Delete the topic").is_disabled()
    opened.get_by_label("Type returns to confirm").fill("returns")
    confirm(opened, "Delete the topic")
    tab.page.get_by_role("heading", name="Topics", level=1).wait_for()
    tab.page.get_by_role("link", name="returns").wait_for(state="detached")


def test_a_group_is_moved_after_a_look_at_what_would_change(tab: Tab) -> None:
    tab.go(f"/groups/{LAGGING}")
    opened = dialog(tab, "Reset offsets…")
    opened.get_by_label("New position").select_option(label="Latest: skip all unread records")
    opened.get_by_role("button", name="Preview").click()
    opened.get_by_text("The group skips").wait_for()
    opened.get_by_role("button", name="Reset 6 partitions").click()
    opened.get_by_text("The offsets are reset").wait_for()
    assert opened.get_by_text("nothing has changed yet").count() == 0
    opened.get_by_role("button", name="Close").last.click()


def test_an_acl_comes_and_goes(tab: Tab) -> None:
    tab.go("/access")
    tab.wait("User:alice")
    opened = dialog(tab, "Add an ACL…")
    opened.get_by_label("Principal").fill("User:bob")
    opened.get_by_label("Resource name", exact=True).fill("payments")
    confirm(opened, "Add")
    row = tab.page.get_by_role("table", name="ACLs").locator("tr", has_text="User:bob")
    row.get_by_role("button", name="Remove…").click()
    confirm(tab.page.get_by_role("dialog"), "Remove")
    row.wait_for(state="detached")


def test_a_record_of_ten_megabytes_is_cut_and_saved_whole(tab: Tab, bootstrap: str) -> None:
    large = {"max.message.bytes": str(LARGE_BYTES + 100_000)}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("scans", 1, 1, config=large)])["scans"].result(60)
    value = json.dumps({"scan": "x" * LARGE_BYTES})
    producer = Producer({"bootstrap.servers": bootstrap, "message.max.bytes": 2 * LARGE_BYTES})
    producer.produce("scans", value, "large")
    assert producer.flush(60) == 0

    page = tab.go("/topics/scans/messages")
    tab.wait("large")
    page.get_by_role("button", name=RECORD).first.click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save value").click()
    assert saved.value.path().read_text() == value
    assert not tab.is_wider_than_its_window()
