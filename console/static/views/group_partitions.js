// @ts-check
// The table of a group's partitions: lag, next record, offsets, members.

import { html, useMemo } from "../vendor/preact.js";
import * as links from "../links.js";
import { Badge, Empty, Panel, Table, ago, count, plural, time } from "../parts/index.js";
import { When } from "./groups.js";
import { capital, memberNames, termsOf } from "./group_words.js";

const READERS_SHOWN = 3;

/** @param {{ data: Answer.GroupShown }} props */
export function Partitions({ data }) {
  const most = Math.max(1, ...data.partitions.map((one) => one.lag ?? 0));
  const columns = useMemo(
    () => columnsOf(data.members, most, termsOf(data.type)),
    [data.members, most, data.type],
  );
  if (data.unserved && !data.partitions.length) return null;
  return html`<${Panel} title="Partitions" inside=${false}>
    <${Table} label="Partitions" rows=${data.partitions} columns=${columns}
        id=${(row) => `${row.topic} ${row.partition}`} sort="-Lag (records)"
        empty=${html`<${Empty} title=${`The group has no ${termsOf(data.type).offset}s`}>
          Its partitions appear after its first ${data.share ? "member" : "commit"}.
        <//>`} />
  <//>`;
}

/**
 * @param {Answer.GroupMember[]} members
 * @param {number} most
 * @param {ReturnType<typeof termsOf>} terms
 * @returns {Column<Answer.GroupPartition>[]}
 */
function columnsOf(members, most, terms) {
  const names = memberNames(members);
  const hasMembers = members.length > 0;
  return [
    {
      name: "Partition",
      wide: true,
      value: (row) => `${row.topic}-${row.partition}`,
      show: (row) =>
        html`<span class="place">
        <a href=${links.topic(row.topic)} aria-label="Topic ${row.topic}">${row.topic}</a>
        <span>-${row.partition}</span>
      </span>`,
    },
    {
      name: "Lag (records)",
      number: true,
      value: (row) => row.lag ?? -1,
      show: (row) =>
        html`<span class="lag-cell" title=${offsets(row, terms)}>
          <span class="lag-bar ${row.late ? "late" : ""}"
              style=${{ width: `${Math.round(((row.lag ?? 0) / most) * 64)}px` }}></span>
          <span class=${row.late ? "late" : "quiet"}>${lagText(row, terms)}</span>
        </span>`,
    },
    {
      name: terms.next,
      show: (row) =>
        row.unread_at !== null
          ? html`<a class="nowrap" href=${links.record(row.topic, row.partition, row.unread_at)}
                title=${`Show the first ${terms.unread} record`}>
              offset ${count(row.unread_at)}
            </a>`
          : html`<span class="quiet">–</span>`,
    },
    {
      name: terms.nextWritten,
      above: 760,
      value: (row) => row.unread_ms ?? 0,
      show: (row) =>
        row.unread_ms
          ? html`<span class="nowrap" title=${time(row.unread_ms)}>${ago(row.unread_ms)}</span>`
          : html`<span class="quiet">–</span>`,
    },
    {
      name: "Behind since",
      above: 760,
      show: (row) =>
        html`<span class="since ${row.late ? "late" : "quiet"}">
          <${When} words=${row.since || (row.lag === 0 ? terms.hasReadAll : "")} />
        </span>`,
    },
    {
      name: capital(terms.offset),
      number: true,
      above: 1280,
      value: (row) => row.committed ?? -1,
      show: (row) => count(row.committed),
    },
    {
      name: "End offset",
      number: true,
      above: 1280,
      value: (row) => row.end ?? -1,
      show: (row) => count(row.end),
    },
    ...(hasMembers ? [memberColumn(members, names)] : []),
  ];
}

/**
 * @param {Answer.GroupPartition} row
 * @param {ReturnType<typeof termsOf>} terms
 */
function offsets({ committed, end }, terms) {
  return `${terms.offset} ${count(committed)}, end offset ${count(end)}`;
}

/**
 * @param {Answer.GroupPartition} row
 * @param {ReturnType<typeof termsOf>} terms
 */
function lagText(row, terms) {
  if (row.committed !== null) return count(row.lag);
  if (row.held === null) return row.lag === null ? terms.noCommit : count(row.lag);
  return `${terms.noCommit}, ${plural(row.held, "record")}`;
}

/**
 * @param {Answer.GroupMember[]} members
 * @param {string[]} names
 * @returns {Column<Answer.GroupPartition>}
 */
function memberColumn(members, names) {
  return {
    name: "Member",
    wide: true,
    above: 1280,
    value: (row) => row.readers.map((at) => names[at]).join(", "),
    show: (row) =>
      row.readers.length === 0
        ? html`<${Badge} plain>unassigned<//>`
        : html`<span title=${row.readers.map((at) => members[at].id).join(", ")}>
            ${readers(row, names)}
          </span>`,
  };
}

/**
 * Return the names of a partition's members, the first ones if there are many.
 *
 * @param {Answer.GroupPartition} row
 * @param {string[]} names
 */
function readers({ readers: own }, names) {
  const shown = own.slice(0, READERS_SHOWN).map((at) => names[at]);
  const more = own.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${count(more)} more` : shown.join(", ");
}
