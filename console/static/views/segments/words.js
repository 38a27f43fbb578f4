// @ts-check
// Texts, paths and offsets for the pages of segments.

import { path } from "../../api.js";
import { bytes, count, duration, time } from "../../parts/index.js";

/** Changes of the address that close the open segment. */
export const CLOSED = { segment: null, at: null, record: null, offset: null, tab: null };

/**
 * Return the path of an endpoint about a segment; `part` is the end of the path.
 *
 * @template {string} Part
 * @param {Answer.PartitionShown} log
 * @param {number} base
 * @param {Part} part
 * @param {Api.Query} query
 */
export function segmentPath(log, base, part, query = {}) {
  const { topic, partition, dir } = log;
  return path(`/api/segments/{}/{}/{}${part}`, topic, partition, base, { dir, ...query });
}

/**
 * Return the last segment that begins at or before an offset, null if all begin after it.
 *
 * @param {Answer.PartitionShown} log
 * @param {number} offset
 */
export function segmentOf(log, offset) {
  return log.segments.findLast((one) => one.base <= offset) ?? null;
}

/**
 * Return when and why a segment will be deleted, in a few words, and how urgent that is.
 *
 * @param {Answer.FateShown | null} fate
 * @param {number} now
 * @param {Answer.PartitionShown} log
 */
export function fateOf(fate, now, log) {
  if (fate === null) return { text: "unknown", kind: "" };
  if (fate.due) {
    const why = {
      "log start": "below the log start offset",
      size: "over retention.bytes",
      time: "older than retention.ms",
    }[fate.why];
    return { text: `due: ${why}`, kind: "bad", at: now };
  }
  switch (fate.why) {
    case "time": {
      const at = fate.at ?? now;
      return { text: `in ${duration(at - now)}`, kind: urgency(at - now), at };
    }
    case "size":
      return { text: `after ${bytes(fate.grows)} more data`, kind: "" };
    case "high watermark":
      return { text: "waits for followers", kind: "info" };
    case "empty":
      return { text: "stays: empty", kind: "" };
    default:
      return { text: log.rules.compact ? "compacted, never deleted" : "stays forever", kind: "" };
  }
}

/** @param {number} ms */
function urgency(ms) {
  if (ms < 60_000) return "bad";
  return ms < 3_600_000 ? "warn" : "";
}

/**
 * Return when and why a segment will be deleted, in full sentences.
 *
 * @param {Answer.FateShown | null} fate
 * @param {number} now
 * @param {Answer.PartitionShown} log
 */
export function fateAtLength(fate, now, log) {
  if (fate === null) return log.rules.why ?? "The configs of this log are unknown.";
  const parts = [];
  if (fate.due)
    parts.push(
      `The segment is due for deletion. The broker checks every ${duration(
        log.rules.checkInterval,
      )}.`,
    );
  else if (fate.why === "time") {
    parts.push(
      `The segment's largest timestamp passes retention.ms at ${time(fate.at, { millis: false })}.`,
    );
    if (fate.waitsFor !== null)
      parts.push(
        `The broker deletes the oldest segment first, and the older segment ` +
          `${count(fate.waitsFor)} has a later timestamp.`,
      );
  } else if (fate.why === "high watermark")
    parts.push("The broker deletes only records below the high watermark.");
  else if (fate.why === "empty") parts.push("An active segment without records stays.");
  else if (fate.why === "never")
    parts.push(
      log.rules.compact
        ? "cleanup.policy is compact: the cleaner removes records, not segments."
        : "retention.ms is -1: the broker does not delete the segment by time.",
    );
  if (!fate.due && fate.grows !== null)
    parts.push(`By size, the broker deletes it when the log has grown by ${bytes(fate.grows)}.`);
  return parts.join(" ");
}

/**
 * Return the share of a segment's offsets whose records are left, 0 to 1; null until counted.
 *
 * @param {Answer.SegmentShown} segment
 */
export function left(segment) {
  const scan = segment.scan;
  if (!scan || !scan.isWhole) return null;
  const span = Math.max(scan.nextOffset, segment.active ? 0 : segment.end) - segment.base;
  return span > 0 ? Math.min(1, scan.records / span) : null;
}

/**
 * Return the bytes of a base64 text.
 *
 * @param {string} base64
 */
export function decoded(base64) {
  return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
}

/**
 * @param {number} value
 * @param {number} [digits]
 */
export function hex(value, digits = 2) {
  return value.toString(16).padStart(digits, "0");
}
