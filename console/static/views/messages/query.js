// @ts-check
// The form of the page of messages as a query of the address, and back.

import { count, plural } from "../../parts/words.js";

export const PLACES = [
  ["newest", "Newest"],
  ["oldest", "Oldest"],
  ["offset", "From offset…"],
  ["time", "From time…"],
  ["range", "Between times…"],
  ["5m", "Last 5 minutes"],
  ["1h", "Last hour"],
  ["1d", "Last day"],
];

/** @param {Q} q */
export function formOf(q) {
  const from = q.from ?? "";
  let place = q.order === "oldest" ? "oldest" : "newest";
  let offset = "";
  let moment = "";
  let until = "";
  if (q.to !== undefined && q.to !== "")
    [place, moment, until] = ["range", localTime(from.slice(1)), localTime(q.to.slice(1))];
  else if (/^@\d+[smhd]$/.test(from) && PLACES.some(([id]) => id === from.slice(1)))
    place = from.slice(1);
  else if (from.startsWith("@")) [place, moment] = ["time", localTime(from.slice(1))];
  else if (/^\d+$/.test(from)) [place, offset] = ["offset", from];
  return {
    place,
    offset,
    moment,
    until,
    earlier: from !== "" && q.order !== "oldest",
    partition: q.partition ?? "",
    several: isSeveral(q.partition),
    q: q.q ?? "",
    filter: q.filter ?? "",
    live: Boolean(q.live),
    regex: Boolean(q.regex),
    case: Boolean(q.case),
    parts: q.parts ?? "",
    finds: q.finds ?? "",
    uncommitted: Boolean(q.uncommitted),
  };
}

function localTime(text) {
  const at = new Date(/^\d+$/.test(text) ? Number(text) : text);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

export function queryOf(form) {
  const from = fromOf(form);
  return {
    partition: form.partition,
    from,
    to: form.place === "range" ? timeOf(form.until) : null,
    order: orderOf(form, from),
    q: form.q,
    live: form.live ? 1 : null,
    uncommitted: form.uncommitted ? 1 : null,
    filter: form.filter,
    ...(form.q
      ? { regex: form.regex ? 1 : null, case: form.case ? 1 : null, parts: form.parts }
      : {}),
    ...(form.q || form.filter ? { finds: form.finds } : {}),
  };
}

function orderOf({ place, earlier }, from) {
  const isBack = place === "newest" || (earlier && (place === "offset" || place === "time"));
  if (!isBack) return "oldest";
  return from === null ? null : "newest";
}

function fromOf({ place, offset, moment }) {
  if (place === "offset") return offset === "" ? null : offset;
  if (place === "time" || place === "range") return timeOf(moment);
  return /^\d/.test(place) ? `@${place}` : null;
}

/** @param {string} moment */
function timeOf(moment) {
  return moment === "" ? null : `@${new Date(moment).getTime()}`;
}

/**
 * Whether `partition` names several partitions: `0,3-5`.
 *
 * @param {string | undefined} partition
 */
export function isSeveral(partition) {
  return /\D/.test(partition ?? "");
}

/**
 * The part of a query that says which records match: that of a search, a live view or an export.
 *
 * @param {Q} q
 */
export function searchOf({ q, regex, case: withCase, parts, filter }) {
  return { q, regex, case: withCase, parts, filter };
}

/**
 * The query of a search: what matches, in which partitions, and between which places. The places of
 * a list that goes back in time end it.
 *
 * @param {Q} q
 */
export function searchedOf(q) {
  const places = q.order === "oldest" ? { from: q.from, to: q.to } : { to: q.from };
  return { ...searchOf(q), partition: q.partition, uncommitted: q.uncommitted, ...places };
}

/**
 * The query of an export of a list or a search.
 *
 * @param {Q} q
 */
export function exportOf(q) {
  return { ...searchedOf(q), order: q.order === "oldest" ? "oldest" : "newest" };
}

/**
 * The title of a page of records, of `held` offsets.
 *
 * @param {Q} q
 * @param {any} shown
 * @param {any} held
 */
export function title(q, shown, held) {
  const of = `of ${plural(held, "offset")}`;
  if (q.to) return `${plural(shown, "record")} between the two times, ${of}`;
  const isForward = q.order === "oldest";
  if (q.cursor) return `${count(shown)} ${isForward ? "later" : "older"} records, ${of}`;
  if (q.from)
    return `${plural(shown, "record")} ${isForward ? "from" : "before"} the start position, ${of}`;
  return isForward ? `The oldest ${shown} ${of}` : `The newest ${shown} ${of}`;
}
