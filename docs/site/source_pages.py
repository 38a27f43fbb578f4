"""Files of the repository as pages of the site, so that a link to the code works without a network.

A link to a file, and the path of a file in `code` spans, lead to a page with the file's text. What
is too long to read there, or is no text, is a download; a folder is a list of its files.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound
from repository_files import ROOT, is_page, located
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

PAGES = "source"
# Where a short name may stand for the file beside the one that was named before it.
MAPS = ("ARCHITECTURE", "docs/concepts")
BLOCKS = (nodes.row, nodes.paragraph)
TITLE = "the-title-of-the-file"
BODY = "<!-- the text of the file -->"
LINE = re.compile(r'id="L-(\d+)"')


class ToSourcePages(SphinxTransform):
    """Links to files become links to their pages, and paths in code spans become links."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        links = [
            *self.document.findall(addnodes.download_reference),
            *self.document.findall(addnodes.pending_xref),
        ]
        for link in links:
            self._lead_to_page(link)
        for block in self.document.findall(lambda node: isinstance(node, BLOCKS)):
            if not isinstance(block, nodes.paragraph) or not _in_row(block):
                self._link_paths(block)

    def _lead_to_page(self, link: nodes.Element) -> None:
        target, _, line = str(link["reftarget"]).partition("#")
        path = normpath(f"{dirname(self.env.docname)}/{target}".lstrip("/"))
        is_download = isinstance(link, addnodes.download_reference)
        if (is_download or (ROOT / path).is_dir()) and is_page(path):
            link.replace_self(self._reference(path, link.children, line))

    def _link_paths(self, block: nodes.Element) -> None:
        folder = None
        for span in list(block.findall(nodes.literal)):
            path, folder = located(span.astext(), folder, short=self.env.docname in MAPS)
            if path is not None and not isinstance(span.parent, nodes.reference) and is_page(path):
                span.replace_self(self._reference(path, [span.deepcopy()]))

    def _reference(self, path: str, children: list[nodes.Node], line: str = "") -> nodes.reference:
        wanted: set[str] = self.env.__dict__.setdefault("ottla_source_pages", set())
        wanted.add(path)
        uri = relpath(f"{PAGES}/{path}.html", dirname(self.env.docname) or ".")
        uri += f"#{line}" if line else ""
        return nodes.reference("", "", *children, refuri=uri, internal=True, classes=["source"])


def _in_row(node: nodes.Node) -> bool:
    while node is not None:
        if isinstance(node, nodes.row):
            return True
        node = node.parent
    return False


def shells(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The event `html-collect-pages`: an empty page for each depth of folders.

    The navigation around a page costs far more than a file's text, and differs by the depth alone.
    """
    for depth in sorted({path.count("/") for path in _wanted(app)}):
        yield _shell(depth), {"title": TITLE, "body": BODY}, "source_page.html"


def fill(app: Sphinx, fault: Exception | None) -> None:
    """The event `build-finished`: a page for each file and folder that some page leads to."""
    if fault is not None:
        return
    wanted = _wanted(app)
    for path in sorted(wanted):
        shell = Path(app.outdir, f"{_shell(path.count('/'))}.html").read_text("utf-8")
        body = _listing(path, wanted) if (ROOT / path).is_dir() else _text(path)
        title = html.escape(path)
        page = Path(app.outdir, PAGES, f"{path}.html")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            shell.replace(TITLE, title).replace(BODY, f"<h1>{title}</h1>{body}"), "utf-8"
        )
    for depth in {path.count("/") for path in wanted}:
        Path(app.outdir, f"{_shell(depth)}.html").unlink()


def _wanted(app: Sphinx) -> set[str]:
    wanted: set[str] = app.env.__dict__.get("ottla_source_pages", set())
    return wanted


def _shell(depth: int) -> str:
    return "/".join([PAGES, *["shell"] * (depth + 1)])


def _text(path: str) -> str:
    text = (ROOT / path).read_text("utf-8", "replace")
    try:
        lexer = get_lexer_for_filename(path)
    except ClassNotFound:
        lexer = TextLexer()
    formatter = HtmlFormatter(linenos="inline", linespans="L")
    return LINE.sub(r'id="L\1"', highlight(text, lexer, formatter))


def _listing(path: str, wanted: set[str]) -> str:
    files = sorted(one for one in (ROOT / path).iterdir() if not one.name.startswith(("__", ".")))
    own = path.rsplit("/", 1)[-1]
    lines = []
    for file in files:
        known = f"{path}/{file.name}" in wanted
        name = html.escape(file.name + ("/" if file.is_dir() else ""))
        lines.append(f'<a href="{own}/{file.name}.html">{name}</a>' if known else name)
    return f"<ul class='files'>{''.join(f'<li><code>{one}</code></li>' for one in lines)}</ul>"


def _merge(_app: Sphinx, env: Any, _docs: list[str], other: Any) -> None:
    wanted = env.__dict__.setdefault("ottla_source_pages", set())
    wanted |= other.__dict__.get("ottla_source_pages", set())


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(ToSourcePages)
    app.connect("html-collect-pages", shells)
    app.connect("build-finished", fill)
    app.connect("env-merge-info", _merge)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
