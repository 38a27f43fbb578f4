"""Logins in Chromium: a token that stays over a restart, and users with passwords."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.launcher import ottla_command
from tests.tools.console import Tab, chromium, running_console

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PASSWORD = "correct horse"
UNAUTHORIZED = "the server responded with a status of 401 (Unauthorized)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def _log_in(page: Page, **fields: str) -> None:
    for label, text in fields.items():
        page.get_by_label(label).fill(text)
    page.get_by_role("button", name="Log in").click()


def test_a_token_of_a_file_is_typed_and_stays_over_a_restart(
    browser: Browser, broker: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    words = ["--token-file", str(file)]
    with running_console(broker, words) as link:
        assert "token" not in link
        tab = Tab(browser, f"{link}#/topics")
        _log_in(tab.page, Token="a wrong token of someone")
        tab.page.get_by_role("alert").filter(has_text="not the token").wait_for()
        assert set(tab.said_wrong()) == {UNAUTHORIZED}
        _log_in(tab.page, Token=file.read_text())
        tab.page.get_by_role("heading", name="Topics", level=1).wait_for()
        port = link.rstrip("/").rpartition(":")[2]
        cookies = tab.page.context.cookies()
        tab.close()
    with running_console(broker, [*words, "--port", port]) as link:
        tab = Tab(browser, "about:blank")
        tab.page.context.add_cookies(cookies)
        tab.page.goto(link)
        tab.page.get_by_role("heading", name="Overview", level=1).wait_for()
        tab.close()


def test_a_user_logs_in_and_out(browser: Browser, broker: str, tmp_path: Path) -> None:
    file = tmp_path / "users"
    words = ["--password-file", str(file)]
    subprocess.run(
        ottla_command("console", *words, "--add-user", "anna"),
        input=f"{PASSWORD}\n".encode(),
        check=True,
    )
    with running_console(broker, words) as link:
        tab = Tab(browser, link)
        _log_in(tab.page, User="anna", Password="wrong horse")
        tab.page.get_by_role("alert").filter(has_text="password is wrong").wait_for()
        assert tab.page.get_by_label("User").input_value() == "anna"
        _log_in(tab.page, Password=PASSWORD)
        tab.page.get_by_role("heading", name="Overview", level=1).wait_for()
        tab.page.get_by_role("button", name="Log out").click()
        tab.page.get_by_role("button", name="Log in").wait_for()
        assert set(tab.said_wrong()) == {UNAUTHORIZED}
        tab.close()
