// @ts-check
// The log as a strip of boxes, one for each segment: darker cells are fuller, marks are above.

import { html, useState } from "../../vendor/preact.js";
import { bytes, count, duration } from "../../parts/index.js";
import { fateOf, left } from "./words.js";

const SCALES = [
  ["size", "Bytes"],
  ["offsets", "Offsets"],
  ["time", "Time"],
];
const MARKS = [
  ["logStart", "log start", "The first offset that a consumer can read."],
  ["cleanedTo", "cleaned up to", "The cleaner's progress, from cleaner-offset-checkpoint."],
  [
    "recoveryPoint",
    "recovery point",
    "Everything below is on stable storage. After a crash the broker recovers the log from here.",
  ],
  [
    "highWatermark",
    "high watermark",
    "All in-sync replicas have the records below. Consumers read up to here.",
  ],
  ["logEnd", "log end", "The offset of the next record."],
];
const NARROWEST = 10;

/** @param {{ log: Answer.PartitionShown, selected: any, onSelect: Call }} props */
export function Strip({ log, selected, onSelect }) {
  const [scale, setScale] = useState("size");
  const boxes = placed(log.segments, scale);
  const marks = placedMarks(log, boxes);
  const rows = Math.max(0, ...marks.map((one) => one.row)) + 1;
  return html`<section class="panel" aria-label="The log">
    <header>
      <h2>The log</h2>
      <div class="row" role="group" aria-label="Box width">
        <span class="quiet">Box width:</span>
        ${SCALES.map(
          ([id, name]) =>
            html`<button type="button" class="plain" aria-pressed=${scale === id}
                onClick=${() => setScale(id)}>${name}</button>`,
        )}
      </div>
    </header>
    <div class="seg-scroll">
      <div class="seg-strip" style=${{ minWidth: `${log.segments.length * (NARROWEST + 2)}px` }}>
        <div class="seg-marks" style=${{ height: `${rows * 20 + 4}px` }}>
          ${marks.map(
            (one) =>
              html`<div key=${one.name} class="seg-mark ${one.id} ${one.isAside ? "toleft" : ""}"
                  style=${{ left: `${one.place}%`, top: `${one.row * 20}px` }} title=${one.note}>
                <span>${one.name} <b>${count(one.offset)}</b></span>
              </div>`,
          )}
        </div>
        <div class="seg-boxes">
          ${boxes.map(
            (one) =>
              html`<${Box} key=${one.segment.base} box=${one} log=${log}
                  selected=${selected === one.segment.base} onSelect=${onSelect} />`,
          )}
        </div>
        <div class="seg-ruler" aria-hidden="true">
          ${ruler(boxes).map(
            (one) =>
              html`<span key=${one.offset} style=${{ left: `${one.place}%` }}>
                ${count(one.offset)}
              </span>`,
          )}
        </div>
      </div>
    </div>
    <div class="seg-legend">
      <span><i class="stays"></i>stays</span>
      <span><i class="soon"></i>deleted within an hour</span>
      <span><i class="due"></i>due for deletion</span>
      <span><i class="active"></i>active segment</span>
      ${
        log.compaction &&
        html`<span>
          <i class="cells"></i>strong colour: records left; faint: removed by compaction
        </span>`
      }
      ${!log.rules.compact && html`<span><i class="ticks"></i>index entries (some of them)</span>`}
    </div>
  </section>`;
}

/** @param {{ box: any, log: Answer.PartitionShown, selected: any, onSelect: Call }} props */
function Box({ box, log, selected, onSelect }) {
  const { segment, width } = box;
  const fate = fateOf(segment.fate, log.now, log);
  const kind = segment.active ? "active" : ({ bad: "due", warn: "soon" }[fate.kind] ?? "stays");
  const share = log.compaction ? left(segment) : null;
  const about = [
    `Segment ${segment.base}`,
    bytes(segment.size),
    `offsets ${segment.base} to ${Math.max(segment.end - 1, segment.base)}`,
    share !== null && `${Math.round(share * 100)} % of the records are left`,
    segment.active && "active",
    fate.text,
  ]
    .filter(Boolean)
    .join(", ");
  return html`<button type="button" class="seg-box ${kind} ${selected ? "chosen" : ""}"
      aria-label=${about} aria-pressed=${selected} title=${about}
      style=${{ flexGrow: Math.max(width, 0.0001), minWidth: `${NARROWEST}px` }}
      onClick=${() => onSelect(segment.base)}>
    ${
      log.compaction && segment.scan
        ? html`<${Cells} segment=${segment} />`
        : html`<${Ticks} segment=${segment} />`
    }
    ${
      width > 7 &&
      html`<span class="seg-label">
        <b>${count(segment.base)}</b>
        <span>${bytes(segment.size)}</span>
        ${
          width > 11 &&
          html`<span>
            ${
              segment.largestTime >= 0 && segment.firstTime >= 0
                ? duration(Math.max(0, segment.largestTime - segment.firstTime))
                : "no timestamps"
            }
          </span>`
        }
      </span>`
    }
  </button>`;
}

/**
 * The records left in each run of offsets of a segment: a cell is more opaque with more records.
 *
 * @param {{ segment: Answer.SegmentShown }} props
 */
export function Cells({ segment }) {
  const { scan } = segment;
  if (scan === null) return null;
  const { width, records } = scan.cells;
  const span = Math.max(scan.nextOffset, segment.active ? 0 : segment.end) - segment.base;
  if (span <= 0 || records.length === 0) return null;
  return html`<svg class="seg-cells" viewBox="0 0 ${span} 10" preserveAspectRatio="none"
      aria-hidden="true">
    ${records.map(
      (one, at) =>
        one > 0 &&
        html`<rect key=${at} x=${at * width} y="0" width=${Math.min(width, span - at * width)}
            height="10" style=${{
              opacity:
                0.1 +
                0.9 * Math.sqrt(Math.min(1, one / Math.min(width, Math.max(1, span - at * width)))),
            }} />`,
    )}
  </svg>`;
}

/** @param {{ segment: Answer.SegmentShown }} props */
function Ticks({ segment }) {
  const entries = segment.offsets?.entries ?? 0;
  if (!entries) return null;
  const shown = Math.min(entries, 48);
  return html`<svg class="seg-ticks" viewBox="0 0 ${shown + 1} 10" preserveAspectRatio="none"
      aria-hidden="true">
    ${Array.from(
      { length: shown },
      (_, at) => html`<rect key=${at} x=${at + 0.9} y="0" width="0.12" height="10" />`,
    )}
  </svg>`;
}

/**
 * @param {Answer.SegmentShown[]} segments
 * @param {string} scale
 */
function placed(segments, scale) {
  const size = (one) => {
    if (scale === "size") return one.size;
    if (scale === "offsets") return one.end - one.base;
    return one.firstTime >= 0 && one.largestTime >= one.firstTime
      ? one.largestTime - one.firstTime
      : 0;
  };
  const whole = segments.reduce((sum, one) => sum + Math.max(size(one), 0), 0) || 1;
  const raw = segments.map((one) => Math.max((100 * size(one)) / whole, 0.4));
  const sum = raw.reduce((total, one) => total + one, 0);
  let at = 0;
  return segments.map((segment, number) => {
    const width = (100 * raw[number]) / sum;
    const box = { segment, start: at, width };
    at += width;
    return box;
  });
}

/**
 * @param {number} offset
 * @param {{ segment: Answer.SegmentShown, start: number, width: number }[]} boxes
 */
function placeOf(offset, boxes) {
  for (const { segment, start, width } of boxes) {
    if (offset < segment.end || segment.active) {
      const span = segment.end - segment.base;
      const part = span > 0 ? (offset - segment.base) / span : 0;
      return start + width * Math.min(Math.max(part, 0), 1);
    }
  }
  return 0;
}

/**
 * @param {Answer.PartitionShown} log
 * @param {{ segment: Answer.SegmentShown, start: number, width: number }[]} boxes
 */
function placedMarks(log, boxes) {
  if (boxes.length === 0) return [];
  const isNarrow = innerWidth < 760;
  const ends = [];
  return MARKS.filter(([id]) => log.marks[id] !== null && log.marks[id] !== undefined)
    .map(([id, name, note]) => ({
      id,
      name,
      note,
      offset: log.marks[id],
      place: placeOf(log.marks[id], boxes),
    }))
    .sort((one, other) => one.place - other.place)
    .map((one) => {
      // A label stands left of its mark if the mark is far to the right. No label covers another.
      const isAside = one.place > (isNarrow ? 42 : 70);
      const room = isNarrow ? 58 : 17;
      const [from, to] = isAside ? [one.place - room, one.place] : [one.place, one.place + room];
      let row = ends.findIndex((taken) => taken.every(([low, high]) => to <= low || from >= high));
      if (row < 0) row = ends.push([]) - 1;
      ends[row].push([from, to]);
      return { ...one, isAside, row };
    });
}

/** @param {{ segment: Answer.SegmentShown, start: number, width: number }[]} boxes */
function ruler(boxes) {
  const labels = [];
  let last = -100;
  for (const { segment, start } of boxes) {
    if (start - last < 9 || (start > 94 && labels.length)) continue;
    labels.push({ offset: segment.base, place: start });
    last = start;
  }
  return labels;
}
