"""The page of a share group in Chromium: from the group to a dead letter, its origin, and a reset.

`pytest tests/compat/console/test_share_group.py --broker=apache-kafka` runs it in front of Apache
Kafka.
"""

from __future__ import annotations

import pytest

from tests.compat.share_scene import BAD, RECORDS, SLOW, make_share_scene
from tests.tools.console import PHONE, Tab, chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

TOPIC, GROUP = "mails", "mailers"


def test_from_the_group_to_the_record_that_it_gave_up(bootstrap: str, link: str) -> None:
    letters = make_share_scene(bootstrap, TOPIC, GROUP)
    with chromium() as browser:
        tab = Tab(browser, link)
        page = tab.go("/groups")
        page.get_by_role("link", name=GROUP, exact=True).click()
        tab.wait("1 record waits, and the group has no members")
        partitions = page.get_by_role("table", name="Partitions").get_by_role("row")
        partitions.get_by_role("link", name=f"offset {SLOW}").wait_for()
        ranges = page.get_by_role("table", name="Records after the start offsets")
        rejected = ranges.get_by_role("row").filter(has=page.get_by_text("archived"))
        rejected.get_by_role("link", name=str(BAD)).wait_for()
        page.get_by_role("link", name=f"Dead letters in {letters}").click()
        tab.wait("1 match for the filter")
        tab.go(f"/topics/{letters}/messages/0/0")
        tab.wait("A dead letter of")
        page.get_by_role("link", name=f"{TOPIC}-0, offset {BAD}").click()
        tab.wait(f"{TOPIC}-0, offset {BAD}")
        tab.close()
        tab = Tab(browser, link, size=PHONE)
        tab.go(f"/groups/{GROUP}")
        tab.wait("Records after the start offsets")
        assert not tab.is_wider_than_its_window()
        page = tab.page
        page.get_by_role("button", name="Reset offsets…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Preview").click()
        dialog.get_by_text("also finished ones").wait_for()
        dialog.get_by_role("button", name="Reset 1 partition").click()
        dialog.get_by_text("The offsets are reset").wait_for()
        dialog.get_by_role("button", name="Close", exact=True).last.click()
        tab.wait(f"{len(RECORDS)} records wait, and the group has no members")
        tab.close()
