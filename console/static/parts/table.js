// @ts-check
// A table of up to ten thousand rows: only the visible rows are in the page.

import { html, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { useAddressState } from "../address.js";

const ROW = 37;
const AHEAD = 12;
const ALL = 200;

/**
 * `sort`: the name of the column by which the rows are sorted first, "-" in front for descending.
 * `sortName`: the name of the order in the address. `empty`: what the table shows
 * without rows.
 *
 * @param {{
 *   columns: Column<any>[], rows: any[], id: (row: any) => any, sort?: string, sortName?: string,
 *   label: string,
 *   empty?: any, onRow?: Call, selected?: any,
 * }} props
 */
export function Table({
  columns,
  rows,
  id,
  sort: first,
  sortName,
  label,
  empty = null,
  onRow,
  selected,
}) {
  const [sort, setSort] = useAddressState(sortName ?? null, first ?? "");
  const box = useRef(null);
  const [seen, setSeen] = useState({ from: 0, to: ALL });
  const sorted = useMemo(() => inOrder(rows, columns, sort), [rows, sort, columns]);
  const isLong = sorted.length > ALL;

  function look() {
    if (!isLong || box.current === null) return;
    const from = Math.max(0, Math.floor(box.current.scrollTop / ROW) - AHEAD);
    const to = from + Math.ceil(box.current.clientHeight / ROW) + 2 * AHEAD;
    setSeen((before) => (before.from === from && before.to === to ? before : { from, to }));
  }
  useLayoutEffect(look, [isLong, sorted.length]);

  if (rows.length === 0 && empty !== null) return empty;
  const from = isLong ? Math.min(seen.from, Math.max(0, sorted.length - 1)) : 0;
  const shown = isLong ? sorted.slice(from, seen.to) : sorted;
  const below = isLong ? Math.max(0, sorted.length - from - shown.length) : 0;
  return html`<div class="table-box ${isLong ? "tall" : ""}" ref=${box} onScroll=${look}
      tabindex=${isLong ? 0 : undefined} role=${isLong ? "region" : undefined}
      aria-label=${isLong ? label : undefined}>
    <table class="data" aria-label=${label} aria-rowcount=${sorted.length}>
      <thead><tr>${columns.map((one) => head(one, sort, setSort))}</tr></thead>
      <tbody>
        ${
          from > 0 &&
          html`<tr class="gap" aria-hidden="true">
            <td colspan=${columns.length} style=${{ height: `${from * ROW}px` }}></td>
          </tr>`
        }
        ${shown.map(
          (row) =>
            html`<tr key=${id(row)} aria-selected=${selected === id(row) ? "true" : undefined}
                onClick=${onRow && (() => onRow(row))}>
              ${columns.map(
                (one) =>
                  html`<td class=${classOf(one)}
                      title=${one.wide ? one.value?.(row) : undefined}>
                    ${(one.show ?? one.value)?.(row)}
                  </td>`,
              )}
            </tr>`,
        )}
        ${
          below > 0 &&
          html`<tr class="gap" aria-hidden="true">
            <td colspan=${columns.length} style=${{ height: `${below * ROW}px` }}></td>
          </tr>`
        }
      </tbody>
    </table>
  </div>`;
}

/**
 * Return the classes of a column's cells.
 *
 * @param {Column<any>} column
 */
function classOf({ number, wide, above }) {
  return [number && "number", wide && "wide", above && `above-${above}`].filter(Boolean).join(" ");
}

/**
 * @param {Column<any>} column
 * @param {string} sort
 * @param {(sort: string) => void} setSort
 */
function head(column, sort, setSort) {
  const kind = classOf(column);
  if (!column.value || column.fixed) {
    return html`<th class=${kind} scope="col">
      ${column.name || html`<span class="hidden-text">${column.label}</span>`}
    </th>`;
  }
  const up = sort === column.name;
  const down = sort === `-${column.name}`;
  function turn() {
    if (up) setSort(`-${column.name}`);
    else if (down) setSort(column.number ? column.name : "");
    else setSort(column.number ? `-${column.name}` : column.name);
  }
  /** @type {[string | undefined, string]} */
  let [order, arrow] = [undefined, ""];
  if (up) [order, arrow] = ["ascending", " ↑"];
  else if (down) [order, arrow] = ["descending", " ↓"];
  return html`<th class=${kind} scope="col" aria-sort=${order}>
    <button type="button" onClick=${turn}>${column.name}${arrow}</button>
  </th>`;
}

/**
 * @param {any[]} rows
 * @param {Column<any>[]} columns
 * @param {string} sort
 */
function inOrder(rows, columns, sort) {
  if (!sort) return rows;
  const down = sort.startsWith("-");
  const value = columns.find((one) => one.name === (down ? sort.slice(1) : sort))?.value;
  if (!value) return rows;
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => sign * compared(value(a), value(b)));
}

/**
 * @param {any} a
 * @param {any} b
 */
function compared(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return typeof a === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
}
