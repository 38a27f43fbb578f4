// @ts-check
// The rows of a list of records, each of which opens.

import { html, useMemo, useState } from "../../vendor/preact.js";
import * as links from "../../links.js";
import { Badge, ago, bytes, count, time } from "../../parts/index.js";
import { Line } from "./line.js";
import { Opened } from "./opened.js";

/**
 * Rows of records, each of which opens. `onAgain(record)`: send it again; none: it may not.
 *
 * @param {{
 *   topic: string, records: Answer.RecordShown[], several: boolean, uncommitted: any,
 *   onAgain: Call, label: string,
 * }} props
 */
export function Records({ topic, records, several, uncommitted, onAgain, label }) {
  const [open, setOpen] = useState(() => new Set());
  function turn(id) {
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  }
  // A row that is as it was is not looked at again: hundreds of them stand while new ones come.
  const closed = useMemo(() => new WeakMap(), [several]);
  function line(one, id, isOpen) {
    const known = isOpen ? undefined : closed.get(one);
    if (known) return known;
    const made = html`<tr key=${id} class="line ${isOpen ? "is-open" : ""}" onClick=${(event) =>
      event.target.closest("button, a") || getSelection()?.toString() || turn(id)}>
      <td>
        <button type="button" class="fold" aria-expanded=${isOpen}
            aria-label="Record ${one.partition}-${one.offset}" onClick=${() => turn(id)}>
          ${isOpen ? "▾" : "▸"}
        </button>
      </td>
      ${several && html`<td class="number">${one.partition}</td>`}
      <td class="number">
        <a href=${links.record(topic, one.partition, one.offset, { uncommitted })}>
          ${count(one.offset)}
        </a>
      </td>
      <td class="nowrap" title=${ago(one.timestamp)}>${time(one.timestamp)}</td>
      <td class="key"><${Line} data=${one.decoded?.key ?? one.key} what="key" /></td>
      <td class="value">
        ${
          one.value === null
            ? html`<${Badge} kind="warn" plain title="Null value: compaction deletes the key">
                ${one.key === null ? "null" : "tombstone"}
              <//>`
            : html`<${Line} data=${one.decoded?.value ?? one.value} what="value" />`
        }
      </td>
      <td class="number">${bytes(one.size)}</td>
    </tr>`;
    if (!isOpen) closed.set(one, made);
    return made;
  }
  return html`<div class="table-box">
    <table class="data records" aria-label=${label}>
      <thead>
        <tr>
          <th scope="col"><span class="hidden-text">Open</span></th>
          ${several && html`<th scope="col" class="number">Partition</th>`}
          <th scope="col" class="number">Offset</th>
          <th scope="col">Timestamp</th>
          <th scope="col">Key</th>
          <th scope="col" class="value">Value</th>
          <th scope="col" class="number">Size</th>
        </tr>
      </thead>
      <tbody>
        ${records.flatMap((one) => {
          const id = `${one.partition}:${one.offset}`;
          const isOpen = open.has(id);
          if (!isOpen) return [line(one, id, isOpen)];
          return [
            line(one, id, isOpen),
            html`<tr key="${id}+" class="more">
              <td colspan=${several ? 7 : 6}>
                <${Opened} topic=${topic} record=${one} uncommitted=${uncommitted}
                    onAgain=${onAgain} />
              </td>
            </tr>`,
          ];
        })}
      </tbody>
    </table>
  </div>`;
}
