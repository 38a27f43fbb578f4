// @ts-check
// The rows of a list of records, each of which opens.

import { html, useMemo } from "../../vendor/preact.js";
import * as links from "../../links.js";
import { Badge, bytes, count, Marks, Time, zone } from "../../parts/index.js";
import { Line } from "./line.js";
import { Opened } from "./opened.js";

/** @type {string[]} */
const NONE = [];

/**
 * The name of a record in a set of open records, and in the address: `PARTITION:OFFSET`.
 *
 * @param {Answer.RecordShown} record
 */
export function idOf(record) {
  return `${record.partition}:${record.offset}`;
}

/**
 * A table of records. `open` has the ids of the open records; `onTurn(id)` opens or closes one.
 * `several`: the records are of several partitions. `onAgain(record)` sends a record again; without
 * it there is no button for that.
 *
 * @param {{
 *   topic: string, records: Answer.RecordShown[], several: boolean, uncommitted: any,
 *   open: Set<string>, onTurn: Call, onAgain: Call, label: string,
 * }} props
 */
export function Records({ topic, records, several, uncommitted, open, onTurn, onAgain, label }) {
  return html`<div class="table-box">
    <table class="data records" aria-label=${label}>
      <thead>
        <tr>
          <th scope="col"><span class="hidden-text">Open</span></th>
          ${several && html`<th scope="col" class="number">Partition</th>`}
          <th scope="col" class="number">Offset</th>
          <th scope="col">Timestamp (${zone()})</th>
          <th scope="col">Key</th>
          <th scope="col" class="value">Value</th>
          <th scope="col" class="number">Size</th>
        </tr>
      </thead>
      <tbody>
        ${records.flatMap((record) => {
          const id = idOf(record);
          const isOpen = open.has(id);
          const row = html`<${Marks.Provider} key=${id} value=${record.match?.texts ?? NONE}>
            <${Row} topic=${topic} record=${record} isOpen=${isOpen} several=${several}
                uncommitted=${uncommitted} onTurn=${onTurn} />
          <//>`;
          if (!isOpen) return [row];
          return [
            row,
            html`<tr key="${id}+" class="more">
              <td colspan=${several ? 7 : 6}>
                <${Marks.Provider} value=${record.match?.texts ?? NONE}>
                  <${Opened} topic=${topic} record=${record} uncommitted=${uncommitted}
                      onAgain=${onAgain} />
                <//>
              </td>
            </tr>`,
          ];
        })}
      </tbody>
    </table>
  </div>`;
}

/**
 * A record in one line. It is drawn again only if its own properties change: hundreds of rows stay
 * while new ones come.
 *
 * @param {{
 *   topic: string, record: Answer.RecordShown, isOpen: boolean, several: boolean, uncommitted: any,
 *   onTurn: Call,
 * }} props
 */
function Row({ topic, record, isOpen, several, uncommitted, onTurn }) {
  return useMemo(
    () =>
      html`<tr class="line ${isOpen ? "is-open" : ""}" onClick=${(event) =>
        event.target.closest("button, a") || getSelection()?.toString() || onTurn(idOf(record))}>
      <td>
        <button type="button" class="fold" aria-expanded=${isOpen}
            aria-label="Record ${record.partition}-${record.offset}"
            onClick=${() => onTurn(idOf(record))}>
          ${isOpen ? "▾" : "▸"}
        </button>
      </td>
      ${several && html`<td class="number">${record.partition}</td>`}
      <td class="number">
        <a href=${links.record(topic, record.partition, record.offset, { uncommitted })}
            aria-label="Offset ${record.offset} of partition ${record.partition}">
          ${count(record.offset)}
        </a>
      </td>
      <td><${Time} ms=${record.timestamp} /></td>
      <td class="key"><${Line} data=${record.decoded?.key ?? record.key} what="key"
          match=${record.match} /></td>
      <td class="value"><${Value} record=${record} /></td>
      <td class="number">${bytes(record.size)}</td>
    </tr>`,
    [topic, record, isOpen, several, uncommitted, onTurn],
  );
}

/** @param {{ record: Answer.RecordShown }} props */
function Value({ record }) {
  if (record.value !== null)
    return html`<${Line} data=${record.decoded?.value ?? record.value} what="value"
        match=${record.match} />`;
  return html`<${Badge} kind="warn" plain title="Null value: compaction deletes the key">
    ${record.key === null ? "null" : "tombstone"}
  <//>`;
}
