// @ts-check
// Members × partitions: the member of each partition, coloured by lag.

import { html } from "../vendor/preact.js";
import * as links from "../links.js";
import { count, plural } from "../parts/index.js";
import { memberNames, termsOf } from "./group_words.js";

const CELLS_MAX = 6000;
const LEVELS = [0, 1, 100, 1000, 10000, 100000];

/** @param {{ data: Answer.GroupShown }} props */
export function Matrix({ data }) {
  const { members, partitions } = data;
  const names = memberNames(members);
  const unassigned = partitions.filter((one) => one.readers.length === 0);
  /** @type {{ name: string, host: string, id: string, at: number | null, target: any }[]} */
  const rows = members.map((one, at) => ({
    name: names[at],
    host: one.host,
    id: one.id,
    at,
    target: one.target,
  }));
  if (unassigned.length)
    rows.push({ name: termsOf(data.type).unassigned, host: "", id: "", at: null, target: null });
  const isWide = rows.length * partitions.length > CELLS_MAX || partitions.length > 120;
  return html`<div class="stack">
    ${
      isWide
        ? html`<${Lists} rows=${rows} partitions=${partitions} />`
        : html`<${Grid} rows=${rows} partitions=${partitions} />`
    }
    <${Legend} />
  </div>`;
}

/** @param {{ rows: any, partitions: Answer.GroupPartition[] }} props */
function Grid({ rows, partitions }) {
  /** @type {[string, number][]} */
  const topics = [];
  for (const one of partitions) {
    const last = topics.at(-1);
    if (last && last[0] === one.topic) last[1] += 1;
    else topics.push([one.topic, 1]);
  }
  return html`<div class="table-box">
    <table class="matrix" aria-label="Members and their partitions">
      <thead>
        <tr>
          <td></td>
          ${topics.map(
            ([name, many]) => html`<th colspan=${many} scope="colgroup" title=${name}>${name}</th>`,
          )}
        </tr>
        <tr>
          <td></td>
          ${partitions.map(
            (one, at) =>
              html`<th scope="col" class=${isFirst(partitions, at) ? "first" : ""}>
                ${one.partition}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr key=${row.id}>
              <${MemberHead} row=${row} />
              ${partitions.map(
                (one, at) =>
                  html`<td class=${isFirst(partitions, at) ? "first" : ""}>${cell(row, one)}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/**
 * @param {Answer.GroupPartition[]} partitions
 * @param {number} at
 */
function isFirst(partitions, at) {
  return at > 0 && partitions[at - 1].topic !== partitions[at].topic;
}

/**
 * @param {any} row
 * @param {Answer.GroupPartition} one
 */
function cell(row, one) {
  if (isOf(row, one)) return html`<${Cell} one=${one} />`;
  const isComing = row.target?.some(
    ([topic, partition]) => topic === one.topic && partition === one.partition,
  );
  return isComing
    ? html`<span class="cell coming"
          title=${`${one.topic}-${one.partition} will be assigned to ${row.name}`}></span>`
    : html`<span class="cell none"></span>`;
}

/**
 * Return whether a partition is a row's: assigned to its member, or to no member in the last row.
 *
 * @param {{ at: number | null }} row
 * @param {Answer.GroupPartition} one
 */
function isOf(row, one) {
  return row.at === null ? one.readers.length === 0 : one.readers.includes(row.at);
}

/** @param {{ one: Answer.GroupPartition }} props */
function Cell({ one }) {
  const said = `${one.topic}-${one.partition}, lag ${count(one.lag)} records`;
  const link =
    one.unread_at !== null
      ? links.record(one.topic, one.partition, one.unread_at)
      : links.messages(one.topic, { partition: one.partition });
  return html`<a class="cell l${level(one.lag)} ${one.late ? "late" : ""}" title=${said}
      aria-label=${said} href=${link}></a>`;
}

/**
 * The table of many partitions: a row for each member, with the member's partitions.
 *
 * @param {{ rows: any, partitions: Answer.GroupPartition[] }} props
 */
function Lists({ rows, partitions }) {
  return html`<div class="table-box tall">
    <table class="matrix" aria-label="Members and their partitions">
      <tbody>
        ${rows.map((row) => {
          const own = partitions.filter((one) => isOf(row, one));
          return html`<tr key=${row.id}>
            <${MemberHead} row=${row} />
            <td class="quiet nowrap">${plural(own.length, "partition")}</td>
            <td>
              <span class="cells">
                ${own.slice(0, 400).map((one) => html`<${Cell} one=${one} />`)}
              </span>
            </td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

/** @param {{ row: { id: string, name: string, host: string } }} props */
function MemberHead({ row }) {
  return html`<th scope="row" title=${row.id}>
    <span class="who">${row.name}</span> <span class="quiet">${row.host}</span>
  </th>`;
}

function Legend() {
  const words = ["0", "1–99", "100–999", "1,000–9,999", "10,000–99,999", "100,000 or more"];
  return html`<div class="legend" aria-hidden="true">
    Lag (records) ${words.map((one, at) => html`<span><i class="cell l${at}"></i>${one}</span>`)}
    <span><i class="cell l2 late"></i>behind</span>
  </div>`;
}

/** @param {number | null} lag */
function level(lag) {
  if (lag === null) return 0;
  let found = 0;
  while (found + 1 < LEVELS.length && lag >= LEVELS[found + 1]) found += 1;
  return found;
}
