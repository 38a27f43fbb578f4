// @ts-check
// The segments of a partition as rows, and the rules by which they are deleted.

import { html } from "../../vendor/preact.js";
import { Badge, bytes, count, duration, Panel, Table, Time } from "../../parts/index.js";
import { fateAtLength, fateOf, left } from "./words.js";

/**
 * @param {{
 *   log: Answer.PartitionShown, chosen: number | null, open: (base: number) => void,
 * }} props
 */
export function Fates({ log, chosen, open }) {
  /** @type {Column<Answer.SegmentShown>[]} */
  const columns = [
    {
      name: "Base offset",
      number: true,
      value: (one) => one.base,
      show: (one) =>
        html`<button type="button" class="plain seg-base" aria-pressed=${chosen === one.base}
            onClick=${() => open(one.base)}>${count(one.base)}</button>`,
    },
    {
      name: "Offset count",
      number: true,
      value: (one) => one.end - one.base,
      show: (one) => count(one.end - one.base),
    },
    { name: "Size", number: true, value: (one) => one.size, show: (one) => bytes(one.size) },
    {
      name: "First timestamp",
      value: (one) => one.firstTime,
      show: (one) => html`<${Time} ms=${one.firstTime} millis=${false} />`,
    },
    {
      name: "Time span",
      number: true,
      value: (one) => one.largestTime - one.firstTime,
      show: (one) =>
        one.firstTime >= 0 && one.largestTime >= 0
          ? duration(Math.max(0, one.largestTime - one.firstTime))
          : "–",
    },
    {
      name: "Index entries",
      number: true,
      value: (one) => one.density?.perMiB ?? 0,
      show: (one) => html`<${Density} segment=${one} />`,
    },
    ...(log.compaction
      ? [
          {
            name: "Records left",
            number: true,
            value: (one) => left(one) ?? -1,
            show: (one) => share(left(one)),
          },
        ]
      : []),
    {
      name: "Deletion",
      value: (one) => one.fate?.at ?? Infinity,
      show: (one) => html`<${Fate} segment=${one} log=${log} />`,
    },
  ];
  return html`<${Panel} title="Segments and their deletion" inside=${false}>
    <div class="inside seg-rules"><${Rules} log=${log} /></div>
    <${Table} label="Segments" columns=${columns} rows=${log.segments} id=${(one) => one.base}
        selected=${chosen} />
    ${
      log.left_out > 0 &&
      html`<p class="seg-more quiet">
        Showing the newest ${count(log.segments.length)} segments,
        without ${count(log.left_out)} older segments.
      </p>`
    }
  <//>`;
}

/** @param {number | null} part */
function share(part) {
  if (part === null) return "…";
  return part > 0 && part < 0.01 ? "under 1 %" : `${Math.round(part * 100)} %`;
}

/** @param {{ segment: Answer.SegmentShown }} props */
function Density({ segment }) {
  if (segment.offsets === null)
    return html`<span class="quiet"
        title="The index of an active segment may still be in the broker's memory.">
      in memory
    </span>`;
  if (segment.density === null) return html`<span class="quiet">no entries yet</span>`;
  const between = bytes(segment.density.bytesBetween);
  return html`<span
      title="${count(segment.offsets.entries)} entries of 8 bytes, one per ${between}">
    1 per ${between}
  </span>`;
}

/** @param {{ segment: Answer.SegmentShown, log: Answer.PartitionShown }} props */
function Fate({ segment, log }) {
  const fate = fateOf(segment.fate, log.now, log);
  const title = fateAtLength(segment.fate, log.now, log);
  return html`<span class="row nowrap seg-fate" title=${title}>
    ${segment.active && html`<${Badge} kind="info">active<//>`}
    ${
      fate.kind
        ? html`<${Badge} kind=${fate.kind}>${fate.text}<//>`
        : html`<span>${fate.text}</span>`
    }
  </span>`;
}

/** @param {{ log: Answer.PartitionShown }} props */
function Rules({ log }) {
  const { rules } = log;
  if (rules.why !== null) return html`<p class="quiet">${rules.why}</p>`;
  const config = (key, show) => {
    const found = rules.configs[key];
    if (!found) return null;
    let [value] = found;
    if (value === "-1") value = "no limit";
    else if (show && !value.startsWith("92233720368")) value = show(Number(value));
    return html`<span class="seg-config">
      <code>${key}</code> <b>${value}</b> <span class="quiet">${found[1]}</span>
    </span>`;
  };
  const often =
    rules.checkInterval === null ? "regularly" : `every ${duration(rules.checkInterval)}`;
  return html`
    <p class="seg-configs">
      ${config("cleanup.policy")}
      ${rules.delete && [config("retention.ms", duration), config("retention.bytes", bytes)]}
      ${config("segment.bytes", bytes)} ${config("segment.ms", duration)} ${config(
        "index.interval.bytes",
        bytes,
      )}
    </p>
    <p class="quiet">
      ${
        rules.delete
          ? "The broker deletes whole segments, the oldest first, also the active segment if all " +
            `its records are old enough. It checks ${often}, and removes the files ` +
            `${duration(rules.deleteDelay)} later.`
          : "This log is only compacted: the cleaner keeps the last record of each key, and " +
            "rewrites segments without the other records."
      }
    </p>
  `;
}
