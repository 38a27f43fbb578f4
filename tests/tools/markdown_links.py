"""The links of a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
HTML = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")


def links(text: str) -> Iterator[str]:
    """Yield the targets of a text's links, outside of examples."""
    prose = FENCE.sub("", text)
    yield from HTML.findall(prose)
    plain = CODE.sub("`code`", prose)
    yield from LINK.findall(plain)
    yield from DEFINITION.findall(plain)
