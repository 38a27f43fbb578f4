"""A console as its users have it: the process of `ottla console`, and Chromium in front of it.

`running_console(bootstrap, …)` starts the command and gives its link; `chromium()` is a browser
without a window. Both end with their block. What the browser's own console says of errors is kept,
so that a page that fails fails its test.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ottla.launcher import ottla_command

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WAIT_MS = 60_000
DESK, PHONE = (1360, 850), (390, 844)


def chromium_path() -> str | None:
    """Debian's Chromium, or another; None where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if (found := shutil.which(name)) is not None:
            return found
    return None


def why_no_browser() -> str | None:
    """What is missing; None: nothing is."""
    if find_spec("playwright") is None:
        return "Playwright is not installed (pip install playwright)"
    return None if chromium_path() else "Chromium is not installed (apt-get install chromium)"


@contextmanager
def running_console(
    bootstrap: str,
    words: Sequence[str] = (),
    data: Sequence[Path] = (),
    folder: Path | None = None,
) -> Iterator[str]:
    """The link of a console on a free port. `data` may be seen from `folder`."""
    command = ottla_command("console", "--bootstrap-server", bootstrap, "--port", "0", *words)
    for one in data:
        command += ["--data", str(one)]
    process = subprocess.Popen(
        [*command, "--while-stdin"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        told = []
        for line in process.stdout:
            told.append(line)
            if "the console is at " in line:
                break
        else:
            raise AssertionError(f"the console did not start: {''.join(told)}")
        yield told[-1].rpartition(" ")[2].strip()
    finally:
        process.kill()
        process.communicate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page of a console, and what went wrong in it."""

    def __init__(
        self,
        browser: Browser,
        link: str,
        *,
        size: tuple[int, int] = DESK,
        scheme: Any = "light",
    ) -> None:
        self._context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            reduced_motion="reduce",
            device_scale_factor=1,
        )
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(WAIT_MS)
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "console",
            lambda said: self.wrong.append(said.text) if said.type == "error" else None,
        )
        self.page.goto(link)

    def go(self, address: str) -> Page:
        """Show the view of an address such as `/topics`."""
        self.page.evaluate("address => { location.hash = address }", address)
        return self.page

    def wait(self, text: str) -> None:
        """Until the view has that text."""
        self.page.locator("main").get_by_text(text).first.wait_for()

    def said_wrong(self) -> list[str]:
        """The ends of what went wrong until now, and is expected: it is forgotten."""
        told, self.wrong = [one.rpartition(": ")[2] for one in self.wrong], []
        return told

    def is_wider_than_its_window(self) -> bool:
        """Whether one would have to scroll the whole page sideways."""
        wider = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        return bool(self.page.evaluate(wider))

    def close(self) -> None:
        """Nothing may have gone wrong."""
        self._context.close()
        assert self.wrong == []
