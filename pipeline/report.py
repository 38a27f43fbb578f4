"""What an audit found, for a terminal and as one page of HTML that needs nothing beside it.

Pure: findings in, text out. The page names no other file and no address: it may be sent by mail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from pipeline.audit_checks import Check

WHOLE = "nothing lost, nothing duplicated"


@dataclass(slots=True)
class Table:
    """Rows under a head; numbers are text already."""

    head: list[str]
    rows: list[list[str]]


@dataclass(slots=True)
class Plot:
    """A title and its SVG."""

    title: str
    svg: str


@dataclass(slots=True)
class Section:
    """A topic, a table or a stream's results."""

    title: str
    lines: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)


def verdict(checks: Sequence[Check]) -> str:
    """One line for all."""
    failed = sum(not check.holds for check in checks)
    if not failed:
        return f"{WHOLE}: {len(checks)} checks hold"
    return f"{failed} of {len(checks)} checks do not hold"


def terminal(sections: Sequence[Section], checks: Sequence[Check]) -> str:
    """All of it but the plots."""
    lines: list[str] = []
    for section in sections:
        lines += [section.title, *(f"  {line}" for line in section.lines)]
        for table in section.tables:
            lines += [f"  {line}" for line in columns(table)]
        lines.append("")
    lines += ["checks"]
    lines += [
        f"  {'ok  ' if check.holds else 'FAIL'}  {check.name}: {check.detail}" for check in checks
    ]
    lines += ["", verdict(checks)]
    return "\n".join(lines)


def columns(table: Table) -> list[str]:
    """The rows in columns, numbers to the right, words to the left."""
    every = list(zip(table.head, *table.rows, strict=True))
    shown = [_aligned(column) for column in every]
    return ["  ".join(row).rstrip() for row in zip(*shown, strict=True)]


def _aligned(column: Sequence[str]) -> list[str]:
    width = max(map(len, column))
    numbers = all(cell.strip("0123456789,.%") == "" for cell in column[1:])
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in column]


def html(
    title: str, about: Sequence[str], sections: Sequence[Section], checks: Sequence[Check]
) -> str:
    """The page; `about` says when and of what, a paragraph each."""
    whole = all(check.holds for check in checks)
    rows = "".join(
        f'<tr><td class="{"ok" if check.holds else "fail"}">{"ok" if check.holds else "FAIL"}</td>'
        f"<td>{escape(check.name)}</td><td>{escape(check.detail)}</td></tr>"
        for check in checks
    )
    body = "".join(_section(section) for section in sections)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1>"
        f'<p class="verdict {"ok" if whole else "fail"}">{escape(verdict(checks))}</p>'
        f"{_paragraphs(about)}"
        f"<h2>Checks</h2><table>{rows}</table>{body}</body></html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    parts.append(_paragraphs(section.lines))
    parts += [f"<h3>{escape(plot.title)}</h3>{plot.svg}" for plot in section.plots]
    for table in section.tables:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
        rows = "".join(
            "<tr>" + "".join(f'<td class="number">{escape(cell)}</td>' for cell in row) + "</tr>"
            for row in table.rows
        )
        parts.append(f"<table><tr>{head}</tr>{rows}</table>")
    return "".join(parts)


def _paragraphs(lines: Sequence[str]) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#8a94a0;--paper:#fff;--a:#2f6fb3;--b:#c8553d}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--paper:#15181c;--a:#6aa5e0;--b:#e58a72}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:780px;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}h3{font-size:.95rem;margin:1rem 0 .2rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}
th{color:var(--soft);font-weight:500}.number,th{text-align:right}td:first-child,th:first-child{
text-align:left}
.ok{color:#2c8a57}.fail{color:#c0392b;font-weight:600}.verdict{font-size:1.1rem}
svg{width:100%;height:auto}svg text{font-size:11px;fill:var(--soft)}
.end{text-anchor:end}.mid{text-anchor:middle}.grid{stroke:var(--soft);stroke-opacity:.25;stroke-width:1}
.bar{fill:var(--a)}polyline,line{fill:none;stroke-width:1.8}.line0{stroke:var(--a)}.line1{stroke:var(--b)}
""".replace("\n", "")
