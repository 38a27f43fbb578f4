// @ts-check
// The export of the listed or found records to a file, and how far it is.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import { bytes, plural } from "../../parts/index.js";
import { exportOf } from "./query.js";

const FORMATS = [
  ["ndjson", "NDJSON, for ottla produce --json"],
  ["csv", "CSV, for tables"],
];
const STATUS_EVERY_MS = 500;

/**
 * A menu that saves all records of a list or a search, also those that the page does not show.
 *
 * @param {{ topic: string, q: Q }} props
 */
export function Export({ topic, q }) {
  const menu = useRef(null);
  const [next, setNext] = useState(newName);
  const [running, setRunning] = useState(/** @type {string | null} */ (null));
  const [ended, setEnded] = useState(/** @type {Answer.ExportStatus | null} */ (null));
  const { data } = useGet(running === null ? null : path("/api/exports/{}", running), {
    every: STATUS_EVERY_MS,
  });
  useEffect(() => {
    if (!data?.ended) return;
    setEnded(data);
    setRunning(null);
  }, [data]);
  function begin() {
    menu.current.removeAttribute("open");
    setEnded(null);
    setRunning(next);
    setTimeout(() => setNext(newName())); // the browser still reads the address of the link
  }
  const status = ended ?? (running === null ? null : data);
  return html`<details class="menu export" ref=${menu}>
      <summary class="button">Export</summary>
      <div class="menu-items">
        ${FORMATS.map(
          ([format, name]) =>
            html`<a download onClick=${begin}
                href=${path("/api/topics/{}/export", topic, {
                  ...exportOf(q),
                  format,
                  export: next,
                })}>${name}</a>`,
        )}
        <span class="quiet">At most 100,000 records or 256 MiB</span>
      </div>
    </details>
    <span class="quiet" role="status">${words(status, running !== null)}</span>`;
}

/** Return a name for an export, by which the page asks for its status. */
function newName() {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
}

/**
 * The state of an export in words.
 *
 * @param {Answer.ExportStatus | null} status
 * @param {boolean} isRunning
 */
export function words(status, isRunning) {
  if (status === null) return isRunning ? "Exporting" : "";
  const file = `${plural(status.records, "record")}, ${bytes(status.bytes)}`;
  if (status.ended === "limit") return `Saved ${file}: the maximum, there are more records`;
  if (status.ended === "failed") return `The export stopped after ${file}: ${status.error}`;
  return status.ended === "end" ? `Saved ${file}` : `Exporting: ${file}`;
}
