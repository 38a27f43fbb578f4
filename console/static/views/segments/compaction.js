// @ts-check
// The progress of compaction in a log: clean and dirty bytes, records left, tombstones.

import { html } from "../../vendor/preact.js";
import { Badge, bytes, count, duration, Panel, plural, time } from "../../parts/index.js";

/** @param {{ state: Answer.CompactionShown }} props */
export function Compaction({ state }) {
  const whole = Math.max(1, state.cleanBytes + state.dirtyBytes + state.laterBytes);
  const width = (part) => `${(100 * part) / whole}%`;
  const gone = state.offsets - state.records;
  /** @type {[string, number, string][]} */
  const parts = [
    ["clean", state.cleanBytes, "Already compacted: one record per key."],
    ["dirty", state.dirtyBytes, "Written since the last cleaning. The next cleaning compacts it."],
    [
      "later",
      state.laterBytes,
      "The active segment, and records that are too young or not replicated: not cleanable yet.",
    ],
  ];
  return html`<${Panel} title="Compaction" actions=${
    state.isDue
      ? html`<${Badge} kind="warn">due: the cleaner compacts it next<//>`
      : html`<${Badge} kind="good">not due<//>`
  }>
    <div class="seg-clean" role="img"
        aria-label=${parts.map(([name, size]) => `${name} ${bytes(size)}`).join(", ")}>
      ${parts.map(
        ([name, size, note]) =>
          size > 0 &&
          html`<div class=${name} style=${{ width: width(size) }} title=${note}>
            <span>${name === "later" ? "not cleanable yet" : name}</span>
          </div>`,
      )}
    </div>
    <div class="seg-two">
      <dl class="facts">
        <dt>Dirty ratio</dt>
        <dd>
          <b>${(state.ratio * 100).toFixed(1)} %</b> of clean and dirty bytes; cleaning starts
          above ${Math.round(state.ratioMin * 100)} %
          ${state.isOverdue ? ", or, as now, if a record is older than max.compaction.lag.ms" : ""}
        </dd>
        <dt>Clean</dt>
        <dd>
          ${bytes(state.cleanBytes)}
          , ${state.wasCleaned ? `up to offset ${count(state.firstDirty)}` : "never cleaned"}
        </dd>
        <dt>Dirty</dt>
        <dd>${bytes(state.dirtyBytes)}</dd>
        <dt>Not cleanable yet</dt>
        <dd>${bytes(state.laterBytes)}, from offset ${count(state.firstUncleanable)} on</dd>
      </dl>
      <dl class="facts">
        <dt>Records left</dt>
        <dd>
          <b>${count(state.records)}</b> of ${count(state.offsets)} offsets
          ${state.isWhole ? "" : ", still counting"}
          ${
            gone > 0
              ? `: compaction removed ${Math.round((100 * gone) / state.offsets)} %, ` +
                "and their offsets stay unused"
              : ""
          }
        </dd>
        <dt>Tombstones</dt>
        <dd>
          ${
            state.tombstones === null
              ? "not counted: the log is too large"
              : count(state.tombstones)
          }
        </dd>
        <dt>Tombstone removal</dt>
        <dd>${whenTombstonesGo(state)}</dd>
        <dt>delete.retention.ms</dt>
        <dd>${duration(state.deleteRetention)}</dd>
      </dl>
    </div>
  <//>`;
}

/**
 * @param {{
 *   tombstones: number | null, horizons: [number, number] | null, batchesWithHorizon: number,
 * }} props
 */
function whenTombstonesGo({ tombstones, horizons, batchesWithHorizon }) {
  if (horizons === null)
    return "the first cleaning sets a delete horizon: its time plus delete.retention.ms";
  const batches = plural(batchesWithHorizon, "batch", "batches");
  if (tombstones === 0) return `no tombstones are left (${batches} with a delete horizon)`;
  const [from, to] = horizons.map((one) => time(one, { millis: false }));
  return (
    `${batches} with a delete horizon from ${from} to ${to}: ` +
    "the first cleaning after it removes their tombstones"
  );
}
