// @ts-check
// A segment's batches, a page of them at a time.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { useGet } from "../../api.js";
import { bytes, count, Empty, ErrorLine, Note, Table, Time, Waiting } from "../../parts/index.js";
import { offsets, producer, signs } from "./batch_signs.js";
import { Torn } from "./inside.js";
import { Batch } from "./batch.js";
import { segmentPath } from "./words.js";

const BATCHES = 50;

/**
 * @param {{
 *   log: Answer.PartitionShown, base: number, q: Q, turn: Turn, bar: Answer.SegmentShown,
 * }} props
 */
export function Batches({ log, base, q, turn, bar }) {
  const at = q.at === undefined ? null : Number(q.at);
  const [from, setFrom] = useState(at ?? 0);
  const { data, error, loading } = useGet(
    segmentPath(log, base, "/batches", { at: from, limit: BATCHES }),
    { every: bar.active ? 3000 : 0 },
  );
  const [last, setLast] = useState(null);
  if (data !== null && data !== last) setLast(data);
  const page = data ?? last;
  useEffect(() => {
    // The address names a batch of another page, for example after a look-up.
    if (
      at !== null &&
      page !== null &&
      !page.batches.some((one) => one.position <= at && at < one.position + one.size)
    )
      setFrom(at);
  }, [at]);
  if (page === null)
    return html`
      <${ErrorLine} error=${error} />
      ${loading && html`<${Waiting} what="Reading batch headers" />`}
    `;
  /** @type {Column<Answer.BatchShown>[]} */
  const columns = [
    {
      name: "Position (byte)",
      number: true,
      value: (one) => one.position,
      show: (one) =>
        html`<button type="button" class="plain seg-base" aria-pressed=${at === one.position}
            onClick=${() => turn({ at: one.position, record: null, offset: null })}>
          ${count(one.position)}
        </button>`,
    },
    { name: "Offsets", number: true, value: (one) => one.baseOffset, show: (one) => offsets(one) },
    {
      name: "Records",
      number: true,
      value: (one) => one.count,
      show: (one) => html`
        ${count(one.count)}
        ${
          one.count < one.lastOffset - one.baseOffset + 1 &&
          html`<span class="quiet"> of ${count(one.lastOffset - one.baseOffset + 1)}</span>`
        }
      `,
    },
    { name: "Size", number: true, value: (one) => one.size, show: (one) => bytes(one.size) },
    {
      name: "Codec",
      value: (one) => one.compresscodec,
      show: (one) => html`<span class="seg-codec ${one.compresscodec}">${one.compresscodec}</span>`,
    },
    {
      name: "Largest timestamp",
      value: (one) => one.maxTimestamp,
      show: (one) =>
        html`<span title=${one.timestampType}><${Time} ms=${one.maxTimestamp} /></span>`,
    },
    { name: "Leader epoch", number: true, value: (one) => one.partitionLeaderEpoch },
    { name: "Producer id", value: (one) => one.producerId, show: (one) => producer(one) },
    {
      name: "",
      label: "Properties",
      show: (one) => html`<span class="row nowrap seg-signs">${signs(one)}</span>`,
    },
  ];
  return html`
    <div class="spread">
      <div class="row">
        <button type="button" disabled=${page.previous === null && page.at === 0}
            onClick=${() => setFrom(0)}>First</button>
        <button type="button" disabled=${page.previous === null}
            onClick=${() => setFrom(page.previous)}>Previous</button>
        <button type="button" disabled=${page.next === null} onClick=${() => setFrom(page.next)}>
          Next
        </button>
        <button type="button" disabled=${page.next === null} onClick=${() => setFrom(-1)}>
          Last
        </button>
      </div>
      <span class="quiet">
        ${
          page.batches.length
            ? `bytes ${count(page.batches[0].position)} to ${count(endOf(page))}` +
              ` of ${count(page.size)}`
            : "no batches"
        }
      </span>
    </div>
    <${ErrorLine} error=${error} />
    <${Film} page=${page} at=${at} turn=${turn} />
    ${page.damage && html`<${Note} kind="warn">Damage at ${page.damage}<//>`}
    <${Torn} bar=${bar}
        end=${page.next === null && !page.damage && page.batches.length ? endOf(page) : null} />
    <div class="seg-sunk">
      <${Table} label="Batches" columns=${columns} rows=${page.batches} id=${(one) => one.position}
          selected=${at} empty=${html`<${Empty} title="No batches">
            <span>
              ${
                bar.active
                  ? "The segment has no batches yet."
                  : "The segment ends before this position."
              }
            </span>
          <//>`} />
    </div>
    ${
      at !== null &&
      html`<${Batch} key=${at} log=${log} base=${base} at=${at} q=${q} turn=${turn} />`
    }
    ${
      at === null &&
      page.batches.length > 0 &&
      html`<p class="quiet">Select a batch to see its records and bytes.</p>`
    }
  `;
}

/**
 * The batches of the page as a row of bars, each as wide as its batch is long.
 *
 * @param {{ page: Answer.BatchesPage, at: number | null, turn: Turn }} props
 */
function Film({ page, at, turn }) {
  if (page.batches.length === 0) return null;
  return html`<div class="seg-film" aria-hidden="true">
    ${page.batches.map(
      (one) =>
        html`<i key=${one.position} tabindex="-1" class=${filmClass(one, at)}
            style=${{ flexGrow: one.size }}
            title=${`offsets ${one.baseOffset} to ${one.lastOffset}, ${bytes(one.size)}`}
            onClick=${() => turn({ at: one.position, record: null, offset: null })}></i>`,
    )}
  </div>`;
}

/**
 * @param {Answer.BatchShown} one
 * @param {number | null} at
 */
function filmClass(one, at) {
  const marks = `${one.isvalid === false ? "wrong" : ""} ${at === one.position ? "chosen" : ""}`;
  if (one.isControl) return `control ${marks}`;
  if (one.isTransactional) return `txn ${marks}`;
  return `${one.compresscodec === "none" ? "plain" : "packed"} ${marks}`;
}

/**
 * Return the position after the last batch of a page.
 *
 * @param {Answer.BatchesPage} page
 */
function endOf(page) {
  const last = page.batches.at(-1);
  return last ? last.position + last.size : page.at;
}
