"""What GitHub reads in a page and Sphinx does not, put into Sphinx's words beforehand.

The pages are written for GitHub, so they hold nothing that is for the site alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from navigation import HOME, toctrees

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# One picture in two themes, as GitHub has it: the dark one, the light one and what they show.
PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img src="(?P<light>[^"]+)" alt="(?P<alt>[^"]*)">\s*</picture>'
)


def themed(found: re.Match[str]) -> str:
    """A `<picture>` as two images, of which the theme's switch shows one."""
    light, dark, alt = found["light"], found["dark"], found["alt"].replace("\n", " ")
    return f"![{alt}]({light}){{.only-light}}\n![{alt}]({dark}){{.only-dark}}\n"


def adapt(_app: Sphinx, docname: str, source: list[str]) -> None:
    """The event `source-read`: pictures of two themes, and the navigation on the home page."""
    source[0] = PICTURE.sub(themed, source[0])
    if docname == HOME:
        source[0] += toctrees()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", adapt)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
