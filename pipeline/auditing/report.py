"""The report of an audit, for a terminal and as a page of HTML in a single file.

Pure: turns findings into text. The page needs no other file and no server, so that a mail can
carry the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from pipeline.auditing.audit_checks import Check

WHOLE = "nothing lost, nothing duplicated"
WHOLE_BUT = "nothing else lost, nothing duplicated"


@dataclass(slots=True)
class Table:
    """Rows under a head. Each cell is text, numbers too."""

    head: list[str]
    rows: list[list[str]]
    words: bool = False
    """Whether the last column is a sentence, which may wrap."""


@dataclass(slots=True)
class Plot:
    """A plot: its title, and its SVG."""

    title: str
    svg: str


@dataclass(slots=True)
class Section:
    """A part of the report: a topic, a table, a stream's results or the run."""

    title: str
    lines: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)


def verdict(checks: Sequence[Check]) -> str:
    """Return the line that sums up all checks."""
    failed = sum(not check.holds for check in checks)
    if not checks:
        return "nothing was compared: name with --topic also a --table, --files or --against-seed"
    if not failed:
        hold = "1 check holds" if len(checks) == 1 else f"{len(checks)} checks hold"
        notes = "".join(f"; {check.note}" for check in checks if check.note)
        return f"{WHOLE_BUT if notes else WHOLE}: {hold}{notes}"
    return f"{failed} of {len(checks)} checks do not hold"


def terminal(sections: Sequence[Section], checks: Sequence[Check]) -> str:
    """Return the report as text for a terminal, without the plots."""
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
    """Return the lines of a table: numbers are aligned to the right, words to the left."""
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
    """Return the page. Each sentence of `about` becomes a paragraph below the verdict."""
    whole = all(check.holds for check in checks)
    rows = "".join(
        f'<tr class="{"ok" if check.holds else "fail"}"><td>{"ok" if check.holds else "FAIL"}</td>'
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
        f'<h2>Checks</h2><table class="checks">{rows}</table>{body}</body></html>\n'
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>", _paragraphs(section.lines)]
    figures = "".join(
        f"<figure><figcaption>{escape(plot.title)}</figcaption>{plot.svg}</figure>"
        for plot in section.plots
    )
    if figures:
        parts.append(f'<div class="plots">{figures}</div>')
    parts += [_table(table) for table in section.tables]
    return "".join(parts)


def _table(table: Table) -> str:
    # A wide table scrolls sideways by itself, not with the whole page.
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    kind = "words" if table.words else "numbers"
    return f'<div class="wide"><table class="{kind}"><tr>{head}</tr>{rows}</table></div>'


def _paragraphs(lines: Sequence[str]) -> str:
    """Return a paragraph for each line. A list of brokers may wrap after a comma."""
    return "".join(f"<p>{escape(line).replace(',', ',<wbr>')}</p>" for line in lines)


_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5f6b78;--rule:#d9dee4;--paper:#fff;--a:#2f6fb3;
--b:#c8553d;--good:#1f7a49;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#98a3af;--rule:#343b44;--paper:#15181c;
--a:#6aa5e0;--b:#e58a72;--good:#5fc48d;--bad:#f28b82}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:960px;
margin:2rem auto 4rem;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0 0 1rem}
h2{font-size:1.15rem;margin:2.5rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--rule)}
h2::first-letter{text-transform:uppercase}
p{margin:.2rem 0}
.verdict{font-size:1.1rem;font-weight:600;margin:0 0 1rem;padding:.5rem .8rem;border-left:4px solid}
.verdict.ok,.ok td:first-child{color:var(--good)}
.verdict.fail,.fail td:first-child{color:var(--bad);font-weight:600}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
td,th{padding:.2rem 1.2rem .2rem 0;text-align:left;vertical-align:top}
.checks tr{border-bottom:1px solid var(--rule)}
.checks td:first-child{font-weight:600;white-space:nowrap}
.numbers{margin-top:1rem}.numbers th{color:var(--soft);font-weight:500}
.numbers td:not(:first-child),.numbers th:not(:first-child){text-align:right}
.words{margin-top:1rem}.words th{color:var(--soft);font-weight:500}.wide .words td:last-child{
white-space:normal}.mark{stroke:var(--soft);stroke-width:1;stroke-dasharray:3 3}
.wide{overflow-x:auto;overflow-wrap:normal}.wide td,.wide th{white-space:nowrap}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));
gap:1.2rem 2rem;margin-top:1rem}
figure{margin:0}figcaption{font-weight:600;font-size:.95rem;margin-bottom:.3rem}
svg{display:block;width:100%;height:auto}svg text{font-size:11px;fill:var(--soft)}
.end{text-anchor:end}.mid{text-anchor:middle}.grid{stroke:var(--rule);stroke-width:1}
.bar{fill:var(--a)}polyline,line{fill:none;stroke-width:2.2;stroke-linecap:round;stroke-linejoin:round}
.alone{stroke-width:5}.line0{stroke:var(--a)}
.line1{stroke:var(--b)}
@media(max-width:560px){.checks tr{display:block;padding:.4rem 0}
.checks td{display:inline;padding:0 .4rem 0 0}
.checks td:last-child{display:block;color:var(--soft)}svg text{font-size:13px}
.numbers{font-size:.75rem}td,th{padding-right:.5rem}.wide td:first-child{white-space:normal}}
""".replace("\n", "")
