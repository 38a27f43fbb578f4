"""Every link between the Markdown files of the repository leads to a file and a heading.

`make docs` checks the built site; this test is quick and needs no installed packages.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from docs.site.navigation import HOME, pages
from tests.architecture.sources import ROOT
from tests.architecture.tracked_files import tracked
from tests.tools.markdown_links import FENCE, links

HEADING = re.compile(r"^(?:#{1,6})\s+(.*?)\s*#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
LINE = re.compile(r"L(\d+)")


def markdown_files() -> list[str]:
    return [name for name in tracked() if name.endswith(".md")]


def anchor(heading: str) -> str:
    """Return GitHub's name of a heading: small letters, no punctuation, hyphens for spaces."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page; headings of the same words end in "", -1, -2 and so on."""
    seen: dict[str, int] = {}
    names = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        name = anchor(heading)
        repeats = seen.get(name, 0)
        seen[name] = repeats + 1
        names.add(f"{name}-{repeats}" if repeats else name)
    return names | set(re.findall(r"\b(?:id|name)=\"([^\"]+)\"", text))


@cache
def anchors_of(file: Path) -> set[str]:
    return anchors(file.read_text("utf-8"))


def fault(file: Path, link: str) -> str | None:
    """Return what is wrong with a link of a file, or None."""
    if ELSEWHERE.match(link):
        return None
    path, _, fragment = link.partition("#")
    target = (file.parent / unquote(path)).resolve() if path else file
    if not target.exists():
        return "leads nowhere"
    if not target.is_relative_to(ROOT):
        return "leads out of the repository"
    if not fragment:
        return None
    line = LINE.fullmatch(fragment)
    if line and target.suffix != ".md":
        lines = target.read_text("utf-8").count("\n")
        return None if int(line[1]) <= lines else "names a line behind the end"
    return None if unquote(fragment) in anchors_of(target) else "has no such heading"


def test_every_link_leads_somewhere() -> None:
    faults = []
    for name in markdown_files():
        file = ROOT / name
        for link in links(file.read_text("utf-8")):
            reason = fault(file, link)
            if reason is not None:
                faults.append(f"{name}: {link} {reason}")
    assert faults == []


def test_the_site_has_every_page_of_the_docs_once() -> None:
    listed = pages()
    assert len(listed) == len(set(listed))
    assert [page for page in listed if not (ROOT / f"{page}.md").is_file()] == []
    docs = {name.removesuffix(".md") for name in markdown_files() if name.startswith("docs/")}
    assert docs <= set(listed)


def test_every_page_of_the_site_is_reached_from_its_home() -> None:
    """Follow the links of home, because GitHub does not show the site's navigation."""
    home = ROOT / f"{HOME}.md"
    linked = {(home.parent / link.partition("#")[0]).resolve() for link in links(home.read_text())}
    docs = {ROOT / f"{page}.md" for page in pages() if page.startswith("docs/")} - {home}
    assert sorted(map(str, docs - linked)) == []


def test_a_broken_link_is_seen() -> None:
    page = ROOT / "README.md"
    text = (
        "# Two words\n[a](gone.md) [b](ARCHITECTURE.md#gone) [c](#two-words) ![d](docs/gone.png)\n"
        "`[e](no-link)` [f](https://example.org/gone) [g](README.md#L1)\n"
        "```\n[h](no-link)\n```\n"
        '<picture><source srcset="gone-dark.png"><img src="docs/speed.svg"></picture>\n'
    )
    broken = [link for link in links(text) if fault(page, link) is not None]
    assert broken == [
        "gone-dark.png",
        "gone.md",
        "ARCHITECTURE.md#gone",
        "#two-words",
        "docs/gone.png",
        "README.md#L1",
    ]
    assert anchors("# A `b.c`: d\n## A\n## A\n```\n# no\n```\n") == {"a-bc-d", "a", "a-1"}
