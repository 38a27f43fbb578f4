// @ts-check
// An opened batch: its records, and the bytes of its header or of a record.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { useGet } from "../../api.js";
import * as links from "../../links.js";
import {
  bytes,
  count,
  Empty,
  ErrorLine,
  Note,
  Table,
  Text,
  Time,
  Waiting,
} from "../../parts/index.js";
import { HexView } from "./hex.js";
import { offsets, signs } from "./batch_signs.js";
import { Control, Preview, Whole } from "./meaning.js";
import { segmentPath } from "./words.js";

const RECORDS = 25;

/** @param {{ log: Answer.PartitionShown, base: number, at: number, q: Q, turn: Turn }} props */
export function Batch({ log, base, at, q, turn }) {
  const [first, setFirst] = useState(0);
  const { data, error, again } = useGet(
    segmentPath(log, base, "/batch", { at, first, limit: RECORDS }),
  );
  const [last, setLast] = useState(null);
  if (data !== null && data !== last) setLast(data);
  const page = data ?? last;
  const offset = q.record === undefined && q.offset !== undefined ? Number(q.offset) : null;
  useEffect(() => {
    // Before compaction, a record's number in its batch is its offset minus the base offset.
    if (offset !== null && page !== null)
      setFirst(Math.max(0, Math.floor((offset - page.batch.baseOffset) / RECORDS) * RECORDS));
  }, [offset, page === null]);
  const place = useRef(null);
  useEffect(
    () => place.current?.scrollIntoView({ block: "nearest", behavior: "smooth" }),
    [page === null],
  );
  if (page === null)
    return html`
      <${ErrorLine} error=${error} onAgain=${again} />
      ${!error && html`<${Waiting} what="Reading the batch" />`}
    `;
  const { batch } = page;
  const record = recordOf(q.record, offset, page.records);
  const ratio =
    page.unpacked > 0 && page.codec !== "none"
      ? (page.unpacked / Math.max(1, batch.size - 61)).toFixed(1)
      : null;
  return html`<div class="seg-batch stack" ref=${place}>
    <div class="spread">
      <div>
        <h2>Batch at byte ${count(batch.position)}</h2>
        <p class="quiet">
          offsets ${offsets(batch)}, ${bytes(batch.size)}
          ${ratio ? `, ${page.codec}: ${bytes(page.unpacked)} uncompressed, ratio ${ratio}` : ""}
          ${` · ${batch.timestampType}`}
        </p>
      </div>
      <span class="row">${signs(batch)}</span>
    </div>
    <${ErrorLine} error=${error} onAgain=${again} />
    ${
      batch.isvalid === false &&
      html`<${Note} kind="warn">
        The CRC-32C does not match the bytes: the batch is damaged. A broker would not serve it, and
        a consumer would reject it.
      <//>`
    }
    <${Bytes} title="The header: 61 bytes" log=${log} base=${base} at=${at} record=${-1} />
    ${
      page.codec !== "none" &&
      html`<p class="seg-packed">
        <b>${bytes(batch.size - 61)}</b> of ${page.codec} data follow. Decompressed, they are these
        records:
      </p>`
    }
    ${page.damage && html`<${Note} kind="warn">Records: ${page.damage}<//>`}
    <${Records} log=${log} page=${page} record=${record}
        choose=${(number) => turn({ record: number === record ? null : number, offset: null })} />
    ${
      page.count > RECORDS &&
      html`<div class="row">
        <button type="button" disabled=${first === 0}
            onClick=${() => setFirst(Math.max(0, first - RECORDS))}>Previous</button>
        <button type="button" disabled=${first + RECORDS >= page.count}
            onClick=${() => setFirst(first + RECORDS)}>Next</button>
        <span class="quiet">
          records ${count(first)} to ${count(Math.min(first + RECORDS, page.count) - 1)}
          of ${count(page.count)}
        </span>
      </div>`
    }
    ${
      record !== null &&
      html`<${Bytes} key=${record} title="Record ${count(record)}" log=${log} base=${base} at=${at}
          record=${record} />`
    }
  </div>`;
}

/**
 * Return the number of the open record in its batch, null if no record is open.
 *
 * @param {string | undefined} number
 * @param {number | null} offset
 * @param {Answer.BatchRecord[]} records
 */
function recordOf(number, offset, records) {
  if (number !== undefined) return Number(number);
  return records.find((one) => one.offset === offset)?.number ?? null;
}

/**
 * @param {{
 *   log: Answer.PartitionShown, page: Answer.BatchOpened, record: number | null,
 *   choose: (number: number) => void,
 * }} props
 */
function Records({ log, page, record, choose }) {
  /** @type {Column<Answer.BatchRecord>[]} */
  const columns = [
    {
      name: "Offset",
      number: true,
      value: (one) => one.offset,
      show: (one) =>
        html`<button type="button" class="plain seg-base" aria-pressed=${record === one.number}
            title="Show the bytes of this record" onClick=${() => choose(one.number)}>
          ${count(one.offset)}
        </button>`,
    },
    {
      name: "Timestamp",
      value: (one) => one.timestamp,
      show: (one) => html`<${Time} ms=${one.timestamp} />`,
    },
    {
      name: "Key",
      wide: true,
      value: (one) => one.key?.text ?? "",
      show: (one) => html`<${Preview} value=${one.key} />`,
    },
    {
      name: "Value",
      wide: true,
      value: (one) => one.value?.size ?? -1,
      show: (one) =>
        one.control
          ? html`<${Control} control=${one.control} />`
          : html`<${Preview} value=${one.value} isValue keyed=${one.key !== null} />`,
    },
    {
      name: "Headers",
      number: true,
      value: (one) => one.headersCount,
      show: (one) =>
        one.headersCount
          ? html`<span title=${one.headers
              .map(
                ([key, value]) =>
                  `${key?.text ?? "?"}: ${value?.text ?? (value === null ? "null" : "bytes")}`,
              )
              .join("\n")}>${count(one.headersCount)}</span>`
          : html`<span class="quiet">–</span>`,
    },
    { name: "Size", number: true, value: (one) => one.size, show: (one) => bytes(one.size) },
    {
      name: "",
      label: "Record",
      show: (one) =>
        !one.control &&
        !log.isMetadata &&
        html`<a href=${links.record(log.topic, log.partition, one.offset, { uncommitted: 1 })}
            aria-label="Record at offset ${one.offset}">record</a>`,
    },
  ];
  const chosen = page.records.find((one) => one.number === record);
  return html`
    <div class="seg-sunk">
      <${Table} label="Records of the batch" columns=${columns} rows=${page.records}
          id=${(one) => one.number} selected=${record} empty=${html`<${Empty} title="No records">
            <span>
              ${
                page.damage
                  ? "The batch is damaged: its records cannot be read."
                  : "Compaction removed all records. The batch keeps the last offset " +
                    "and its producer's last sequence."
              }
            </span>
          <//>`} />
    </div>
    ${
      chosen &&
      !chosen.control &&
      html`<div class="seg-two seg-record">
        <div>
          <h3>Key</h3>
          <${Whole} value=${chosen.key} />
          ${
            chosen.headersCount > 0 &&
            html`
              <h3>Headers</h3>
              <dl class="facts">
                ${chosen.headers.map(
                  ([key, value], at) => html`
                    <dt key=${at} class="mono"><${Text} value=${key?.text ?? "?"} /></dt>
                    <dd><${Preview} value=${value} /></dd>
                  `,
                )}
              </dl>
            `
          }
        </div>
        <div><h3>Value</h3><${Whole} value=${chosen.value} /></div>
      </div>`
    }
  `;
}

/**
 * @param {{
 *   title: string, log: Answer.PartitionShown, base: number, at: number, record: number | null,
 * }} props
 */
function Bytes({ title, log, base, at, record }) {
  const [from, setFrom] = useState(0);
  const { data, error, again } = useGet(segmentPath(log, base, "/bytes", { at, record, from }));
  return html`<div class="seg-bytes">
    <h3>${title}</h3>
    <${ErrorLine} error=${error} onAgain=${again} />
    ${data && html`<${HexView} data=${data} onMore=${setFrom} />`}
  </div>`;
}
