// Names, places and addresses within the view of segments.

import { bytes, count, duration, time } from "../../parts/index.js";

/** The address of the partition's page with other parameters; null takes one away. */
export function address(topic, partition, q, changes) {
  const pairs = Object.entries({ ...q, ...changes }).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const query = new URLSearchParams(pairs);
  const place = `#/segments/${encodeURIComponent(topic)}/${encodeURIComponent(partition)}`;
  return pairs.length ? `${place}?${query}` : place;
}

/** The same page again with these parameters, without a new entry in the browser's history. */
export function turnTo(where) {
  history.replaceState(null, "", where);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** What becomes of a segment, in a few words; and how urgent it is. */
export function fateOf(fate, now, log) {
  if (fate === null) return { text: "not known", kind: "" };
  if (fate.due) {
    const why = {
      "log start": "before the log start",
      size: "over retention.bytes",
      time: "older than retention.ms",
    }[fate.why];
    return { text: `due: ${why}`, kind: "bad", at: now };
  }
  switch (fate.why) {
    case "time":
      return { text: `in ${duration(fate.at - now)}`, kind: urgency(fate.at - now), at: fate.at };
    case "size":
      return { text: `after ${bytes(fate.grows)} more`, kind: "" };
    case "high watermark":
      return { text: "waits for followers", kind: "info" };
    case "empty":
      return { text: "empty: stays", kind: "" };
    default:
      return { text: log.rules.compact ? "compacted, never deleted" : "stays for ever", kind: "" };
  }
}

function urgency(ms) {
  if (ms < 60_000) return "bad";
  return ms < 3_600_000 ? "warn" : "";
}

/** The reasons at length, for the one who asks why. */
export function fateAtLength(fate, now, log) {
  if (fate === null) return log.rules.why ?? "The rules of this log are not known.";
  const parts = [];
  if (fate.due)
    parts.push(`It may go now; the broker looks every ${duration(log.rules.checkInterval)}.`);
  else if (fate.why === "time") {
    parts.push(
      `Its largest timestamp is past retention.ms at ${time(fate.at, { millis: false })}.`,
    );
    if (fate.waitsFor !== null)
      parts.push(
        `By itself it would go earlier, but segment ${count(fate.waitsFor)} before it has a ` +
          "later timestamp, and segments go oldest first.",
      );
  } else if (fate.why === "high watermark")
    parts.push("Nothing goes that is not below the high watermark.");
  else if (fate.why === "empty") parts.push("The active segment stays while it holds nothing.");
  else if (fate.why === "never")
    parts.push(
      log.rules.compact
        ? "cleanup.policy is compact: records go, segments do not."
        : "retention.ms is -1, so time does not delete it.",
    );
  if (!fate.due && fate.grows !== null)
    parts.push(`By size it goes when the log has grown by ${bytes(fate.grows)}.`);
  return parts.join(" ");
}

/** The part of a batch's or segment's offsets whose records are left: 0 to 1. */
export function left(segment) {
  const scan = segment.scan;
  if (!scan || !scan.isWhole) return null;
  const span = Math.max(scan.nextOffset, segment.active ? 0 : segment.end) - segment.base;
  return span > 0 ? Math.min(1, scan.records / span) : null;
}

/** Base64 → bytes. */
export function decoded(base64) {
  return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
}

export function hex(value, digits = 2) {
  return value.toString(16).padStart(digits, "0");
}
