// @ts-check
// The texts of a group's page and of its row: lag, commits, members, rights.

import { denied } from "../rights.js";
import { count, plural } from "../parts/words.js";

/**
 * The words for the offsets of a group and for its progress, by the type of the group.
 *
 * @type {Record<string, {
 *   offset: string, next: string, nextWritten: string, unread: string, hasReadAll: string,
 *   noOffsets: string, noCommit: string, start: string, end: string, unassigned: string,
 * }>}
 */
const TERMS = {
  share: {
    offset: "start offset",
    next: "First unfinished",
    nextWritten: "Written",
    unread: "unfinished",
    hasReadAll: "has finished all records",
    noOffsets: "has finished no records yet",
    noCommit: "not begun",
    start: "Earliest: deliver all records again",
    end: "Latest: skip all unfinished records",
    unassigned: "no members",
  },
  other: {
    offset: "committed offset",
    next: "Next record",
    nextWritten: "Next record written",
    unread: "unread",
    hasReadAll: "has read all records",
    noOffsets: "no committed offsets",
    noCommit: "no commit",
    start: "Earliest: read all records again",
    end: "Latest: skip all unread records",
    unassigned: "unassigned",
  },
};

/**
 * Return the words for a type of group.
 *
 * @param {string} type
 */
export function termsOf(type) {
  return TERMS[type] ?? TERMS.other;
}

/**
 * Return a text with its first letter in upper case.
 *
 * @param {string} text
 */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Return "+ 4 partitions without a commit, 30,636 records"; "" if each partition has a commit.
 *
 * @param {{ partitions: number, records: number }} uncommitted
 */
export function withoutCommit({ partitions, records }) {
  if (!partitions) return "";
  return `+ ${plural(partitions, "partition")} without a commit, ${plural(records, "record")}`;
}

/**
 * Return the text below a group's lag. It says that the group keeps up only if samples show it.
 *
 * @param {Answer.GroupShown} data
 */
export function lagBelow(data) {
  const late = data.partitions.filter((one) => one.late).length;
  const unknown = data.partitions_without_lag;
  const terms = termsOf(data.type);
  const texts = [];
  if (late) texts.push(`${plural(late, "partition")} behind`);
  else if (data.keeps_up) texts.push(data.lag ? "keeps up" : terms.hasReadAll);
  else if (data.lag === null) texts.push(terms.noOffsets);
  else texts.push("not enough samples yet");
  if (unknown) texts.push(`unknown for ${plural(unknown, "partition")}`);
  const extra = data.type === "share" ? "" : withoutCommit(data.uncommitted);
  return extra ? `${texts.join(", ")}, ${extra}` : texts.join(", ");
}

/**
 * Return the note of the chart: the lag does not contain partitions without a commit.
 *
 * @param {Answer.GroupShown} data
 */
export function chartNote(data) {
  const { partitions } = data.uncommitted;
  if (data.type === "share") return "finished records after the start offsets do not count";
  return partitions ? `without ${plural(partitions, "partition")} that have no commit` : "";
}

/**
 * Return why a change of a group is not possible, or undefined if it is. `operation`: the right
 * that the change takes.
 *
 * @param {Answer.GroupShown} data
 * @param {string} operation
 */
export function whyNot(data, operation) {
  if (data.unserved) return `Not possible here: ${data.unserved}`;
  const why = denied(data.operations, operation, "group");
  if (why) return why;
  if (data.members.length) return "The group has active members: stop them first";
  return undefined;
}

/**
 * Return the text of a range of offsets: "5" or "5–7".
 *
 * @param {{ first: number, last: number }} range
 */
export function offsetsOf({ first, last }) {
  return first === last ? count(first) : `${count(first)}–${count(last)}`;
}

/**
 * Return the text of a record's ended deliveries: "2 of 5"; "–" if none has ended.
 *
 * @param {{ deliveries: number | null }} range
 * @param {number | null} limit
 */
export function deliveriesOf({ deliveries }, limit) {
  if (deliveries === null) return "–";
  return limit === null ? count(deliveries) : `${count(deliveries)} of ${count(limit)}`;
}

/**
 * Return the name of each member: the client id and the instance id; members with the same name get
 * the end of their member id as well.
 *
 * @param {{ id: string, name: string, instance: string | null }[]} members
 */
export function memberNames(members) {
  const names = members.map(({ name, instance }) => (instance ? `${name} · ${instance}` : name));
  return members.map(({ id }, at) => {
    const isAlone = names.filter((name) => name === names[at]).length === 1;
    return isAlone || !id ? names[at] || id : `${names[at]} · …${id.slice(-6)}`;
  });
}

/**
 * Return the text below the number of members.
 *
 * @param {Answer.GroupShown} data
 */
export function epochs(data) {
  if (data.epoch === null) return data.type === "classic" ? "a classic group has no epoch" : "";
  const target = data.target_epoch !== data.epoch ? `, target assignment ${data.target_epoch}` : "";
  return `group epoch ${count(data.epoch)}${target}`;
}
