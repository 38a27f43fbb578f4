// @ts-check
// The offset in the address of a partition's segments: its segment and batch open.

import { useEffect } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import { segmentOf } from "./words.js";

/**
 * Open the segment and the batch that have the `offset` of the address, if no segment is open.
 *
 * @param {Answer.PartitionShown | null} log
 * @param {Q} q
 * @param {Turn} turn
 */
export function useOffsetAsked(log, q, turn) {
  const offset = q.offset !== undefined && q.segment === undefined ? Number(q.offset) : NaN;
  const segment = log === null || Number.isNaN(offset) ? null : segmentOf(log, offset);
  const { data } = useGet(
    log && segment
      ? path("/api/segments/{}/{}/{}/lookup", log.topic, log.partition, segment.base, {
          dir: log.dir,
          offset,
        })
      : null,
  );
  useEffect(() => {
    if (data?.batch && segment) turn({ segment: segment.base, at: data.batch.position });
  }, [data]);
}
