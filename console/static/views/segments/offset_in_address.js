// @ts-check
// The parameter `offset` of a partition's address, which opens a segment and a batch.

import { useEffect } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import { segmentOf } from "./words.js";

/**
 * Open the segment and the batch with the `offset` of the address, if the address has no segment.
 *
 * @param {Answer.PartitionShown | null} log
 * @param {Q} q
 * @param {Turn} turn
 */
export function useOffsetInAddress(log, q, turn) {
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
