"""A console as users run it: the process of `ottla console`, and Chromium as its browser.

`running_console(bootstrap, …)` starts the command and yields its link; `chromium()` is a browser
without a window. Both end with their block. A `Tab` keeps the errors of its page, so that an error
in the page fails the test.
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
    from playwright.sync_api import Browser, Locator, Page

WAIT_MS = 60_000
DESK, LAPTOP, PHONE = (1360, 850), (1024, 768), (390, 844)


def chromium_path() -> str | None:
    """Return the path of Debian's Chromium or of a similar browser; None if there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if (path := shutil.which(name)) is not None:
            return path
    return None


def why_no_browser() -> str | None:
    """Return why no browser can run, and how to install it; None if it can."""
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
    """Start a console on a free port and yield its link.

    The process runs in `folder`, to which the paths of `data` may be relative.
    """
    with console_process(bootstrap, words, data, folder) as (link, _):
        yield link


@contextmanager
def console_process(
    bootstrap: str,
    words: Sequence[str] = (),
    data: Sequence[Path] = (),
    folder: Path | None = None,
) -> Iterator[tuple[str, int]]:
    """Start a console as `running_console` does, and yield its link and the process's id."""
    command = ottla_command("console", "--bootstrap-server", bootstrap, "--port", "0", *words)
    for data_folder in data:
        command += ["--data", str(data_folder)]
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
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "the console is at " in line:
                break
        else:
            raise AssertionError(f"the console did not start: {''.join(lines)}")
        yield lines[-1].rpartition(" ")[2].strip(), process.pid
    finally:
        process.kill()
        process.communicate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser without a window."""
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
    """A browser tab with a page of a console, and the errors in it."""

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
            lambda message: self.wrong.append(message.text) if message.type == "error" else None,
        )
        self.page.goto(link)

    def go(self, address: str) -> Page:
        """Show the view of an address such as `/topics`."""
        self.page.evaluate("address => { location.hash = address }", address)
        return self.page

    def wait(self, text: str) -> None:
        """Wait until the view has that text."""
        self.page.locator("main").get_by_text(text).first.wait_for()

    def said_wrong(self) -> list[str]:
        """Return and clear the errors until now, each without the part before its last colon."""
        errors, self.wrong = [error.rpartition(": ")[2] for error in self.wrong], []
        return errors

    def is_wider_than_its_window(self) -> bool:
        """Return whether the whole page scrolls sideways."""
        wider = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        return bool(self.page.evaluate(wider))

    def resize(self, size: tuple[int, int]) -> None:
        """Give the window another width and height."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})

    def is_within_its_window(self, element: Locator) -> bool:
        """Return whether the element is shown between the left and right edges of the window."""
        box, size = element.bounding_box(), self.page.viewport_size
        assert size is not None
        return box is not None and 0 <= box["x"] <= box["x"] + box["width"] <= size["width"]

    def heap_bytes(self) -> int:
        """Collect the garbage of the page's JavaScript, and return the bytes that are left."""
        session = self._context.new_cdp_session(self.page)
        session.send("HeapProfiler.enable")
        session.send("HeapProfiler.collectGarbage")
        used: int = session.send("Runtime.getHeapUsage")["usedSize"]
        session.detach()
        return used

    def close(self) -> None:
        """Close the page; assert that no error is left."""
        self._context.close()
        assert self.wrong == []
