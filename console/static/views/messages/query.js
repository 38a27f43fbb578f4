// @ts-check
// What the form of the messages says, as a query of the address, and back.

import { plural } from "../../parts/words.js";

export const PLACES = [
  ["newest", "Newest"],
  ["oldest", "Oldest"],
  ["offset", "From offset…"],
  ["time", "From time…"],
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
  if (/^@\d+[smhd]$/.test(from) && PLACES.some(([id]) => id === from.slice(1)))
    place = from.slice(1);
  else if (from.startsWith("@")) [place, moment] = ["time", localTime(from.slice(1))];
  else if (/^\d+$/.test(from)) [place, offset] = ["offset", from];
  return {
    place,
    offset,
    moment,
    earlier: from !== "" && q.order !== "oldest",
    partition: q.partition ?? "",
    q: q.q ?? "",
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
    order: orderOf(form, from),
    q: form.live ? null : form.q,
    live: form.live ? 1 : null,
    uncommitted: form.uncommitted ? 1 : null,
    ...(form.q && !form.live
      ? {
          regex: form.regex ? 1 : null,
          case: form.case ? 1 : null,
          parts: form.parts,
          finds: form.finds,
        }
      : {}),
  };
}

function orderOf({ place, earlier }, from) {
  const isBack = place === "newest" || (earlier && (place === "offset" || place === "time"));
  if (!isBack) return "oldest";
  return from === null ? null : "newest";
}

function fromOf({ place, offset, moment }) {
  if (place === "offset") return offset === "" ? null : offset;
  if (place === "time") return moment === "" ? null : `@${new Date(moment).getTime()}`;
  return /^\d/.test(place) ? `@${place}` : null;
}

/**
 * What a page of records is, of `held` offsets.
 *
 * @param {Q} q
 * @param {any} shown
 * @param {any} held
 */
export function title(q, shown, held) {
  const of = `of ${plural(held, "offset")}`;
  const isForward = q.order === "oldest";
  if (q.from)
    return `${plural(shown, "record")} ${isForward ? "from" : "before"} the start position, ${of}`;
  return isForward ? `The oldest ${shown} ${of}` : `The newest ${shown} ${of}`;
}
