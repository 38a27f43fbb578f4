"""Whether a built site holds together: each link leads to a file and a heading that are there.

    python docs/site/check.py build/docs

Sphinx has looked at the links of the Markdown; this looks at what it made, with what pages contain
as HTML. Nothing may come from elsewhere: a page has to work without a network. It prints one line
for each fault, and its exit code is 1 if there is any.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself. Links that a reader may follow are not among them.
FETCHED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "srcset")}


class Page(HTMLParser):
    """The names and the links of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[tuple[str, str, str]] = []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.names.add(value)
            elif name in ("href", "src", "srcset") and value:
                self.links.append((tag, name, value))


@cache
def page(file: Path) -> Page:
    return Page(file)


def fault(file: Path, tag: str, name: str, link: str) -> str | None:
    """What is wrong with one link of a page, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        elsewhere = (tag, name) in FETCHED and parts.scheme != "data"
        return "comes from elsewhere" if elsewhere else None
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_file():
        return "leads nowhere"
    if not parts.fragment or target.suffix != ".html":
        return None
    return None if unquote(parts.fragment) in page(target).names else "has no such heading"


def faults(site: Path) -> Iterator[str]:
    for file in sorted(site.rglob("*.html")):
        for tag, name, link in page(file).links:
            wrong = fault(file, tag, name, link)
            if wrong is not None:
                yield f"{file.relative_to(site)}: {link} {wrong}"


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    found = list(dict.fromkeys(faults(site)))
    for line in found:
        print(line)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(found)} broken links", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
