// @ts-check
// Changes of a partition's folder while its page is open.

import { useEffect, useRef, useState } from "../../vendor/preact.js";
import { bytes, count } from "../../parts/index.js";

/** @typedef {Answer.PartitionShown} Log */

const NEWS_KEPT = 6;

/** @typedef {{ kind: string, text: string, at: number, id: string }} News */

/**
 * Return the last changes between two answers about the folder.
 *
 * @param {Log | null} log
 */
export function useNews(log) {
  const before = useRef(null);
  const [news, setNews] = useState(/** @type {News[]} */ ([]));
  useEffect(() => {
    if (log === null) return;
    const earlier = before.current;
    before.current = log;
    if (earlier === null) return;
    const earlierByBase = new Map(earlier.segments.map((one) => [one.base, one]));
    const nowByBase = new Map(log.segments.map((one) => [one.base, one]));
    const changes = [];
    for (const one of log.segments) {
      const was = earlierByBase.get(one.base);
      if (!was) changes.push(["good", `the log rolled: segment ${count(one.base)} is active now`]);
      else if (one.fileSize < was.fileSize)
        changes.push([
          "violet",
          `segment ${count(one.base)} was compacted: ` +
            `${bytes(was.fileSize)} to ${bytes(one.fileSize)}`,
        ]);
    }
    for (const one of earlier.segments) {
      if (!nowByBase.has(one.base))
        changes.push([
          "bad",
          `segment ${count(one.base)} was ` +
            (one.end <= log.marks.logStart ? "deleted" : "merged into the segment before it"),
        ]);
    }
    if (changes.length) {
      const at = Date.now();
      setNews((old) =>
        [
          ...changes
            .map(([kind, text], number) => ({ kind, text, at, id: `${at}-${number}` }))
            .reverse(),
          ...old,
        ].slice(0, NEWS_KEPT),
      );
    }
  }, [log]);
  return news;
}
