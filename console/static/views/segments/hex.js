// @ts-check
// Bytes with the names of their fields, and a sentence about each field.

import { html, useMemo, useState } from "../../vendor/preact.js";
import { bytes, count, time } from "../../parts/index.js";
import { decoded, hex } from "./words.js";

const HUES = 7;
const PART = 4096;

/** @param {{ data: Answer.BytesNamed, onMore: Call }} props */
export function HexView({ data, onMore }) {
  const [pointed, setPointed] = useState(null);
  const [held, setHeld] = useState(0);
  const raw = useMemo(() => decoded(data.base64), [data]);
  const owner = useMemo(() => owners(data.fields, data.from, raw.length), [data, raw]);
  const active = pointed ?? held;
  const field = data.fields[active];
  return html`<div class="seg-hex">
    <${Cells} data=${data} raw=${raw} owner=${owner} active=${active} point=${setPointed}
        hold=${setHeld} />
    <${Fields} data=${data} active=${active} point=${setPointed} hold=${setHeld} held=${held} />
    ${field && html`<${Explanation} field=${field} raw=${raw} from=${data.from} data=${data} />`}
    ${
      data.size > PART &&
      html`<div class="row seg-pages">
        <button type="button" disabled=${data.from === 0}
            onClick=${() => onMore(Math.max(0, data.from - PART))}>Previous bytes</button>
        <button type="button" disabled=${data.from + raw.length >= data.size}
            onClick=${() => onMore(data.from + PART)}>Next bytes</button>
        <span class="quiet">
          bytes ${count(data.from)} to ${count(data.from + raw.length - 1)} of ${count(data.size)}
        </span>
      </div>`
    }
  </div>`;
}

/**
 * Return the number of the field of each visible byte.
 *
 * @param {Answer.FieldShown[]} fields
 * @param {number} from
 * @param {number} length
 */
function owners(fields, from, length) {
  const numbers = new Int32Array(length).fill(-1);
  fields.forEach((one, number) => {
    for (let at = Math.max(one.start - from, 0); at < Math.min(one.end - from, length); at += 1)
      numbers[at] = number;
  });
  return numbers;
}

/**
 * @param {{
 *   data: Answer.BytesNamed, raw: any, owner: any, active: any, point: Call, hold: Call,
 * }} props
 */
function Cells({ data, raw, owner, active, point, hold }) {
  const width = 16;
  const rows = [];
  for (let at = 0; at < raw.length; at += width) rows.push(at);
  const digits = Math.max(4, (data.at + data.from + raw.length).toString(16).length);
  const number = (event) => {
    const at = event.target.dataset?.at;
    return at === undefined ? null : owner[Number(at)];
  };
  return html`<div class="seg-dump" role="img"
      aria-label=${`${raw.length} bytes in hexadecimal; the list beside them names their fields`}
      onMouseOver=${(event) => point(number(event))} onMouseLeave=${() => point(null)}
      onClick=${(event) => number(event) !== null && hold(number(event))}>
    ${rows.map(
      (start) =>
        html`<div key=${start} class="seg-line">
          <span class="seg-addr">${hex(data.at + data.from + start, digits)}</span>
          <span class="seg-pairs">
            ${Array.from(
              raw.subarray(start, start + width),
              (byte, at) =>
                html`<i data-at=${start + at} class=${classOf(owner, start + at, active, data)}>
                  ${hex(byte)}
                </i>`,
            )}
          </span>
          <span class="seg-chars">
            ${Array.from(
              raw.subarray(start, start + width),
              (byte, at) =>
                html`<i data-at=${start + at} class=${classOf(owner, start + at, active, data)}>
                  ${charOf(byte)}
                </i>`,
            )}
          </span>
        </div>`,
    )}
  </div>`;
}

/**
 * @param {any} owner
 * @param {any} at
 * @param {any} active
 * @param {Answer.BytesNamed} data
 */
function classOf(owner, at, active, data) {
  const own = owner[at];
  const begins = at === 0 || owner[at - 1] !== own;
  const ends = at === owner.length - 1 || owner[at + 1] !== own;
  const marks = [
    own === active && "on",
    begins && "b",
    ends && "e",
    data.fields[own]?.hidden && "hid",
  ];
  return [`f${own % HUES}`, ...marks.filter(Boolean)].join(" ");
}

/** @param {number} byte */
function charOf(byte) {
  if (byte === 32) return "\u00a0";
  return byte > 32 && byte < 127 ? String.fromCharCode(byte) : "·";
}

/** @param {{ data: Answer.BytesNamed, active: any, point: Call, hold: Call, held: any }} props */
function Fields({ data, active, point, hold, held }) {
  return html`<ul class="seg-fields" aria-label="Fields">
    ${data.fields.map(
      (one, number) =>
        html`<li key=${number}>
          <button type="button" class="f${number % HUES} ${number === active ? "on" : ""}"
              aria-pressed=${number === held} onMouseEnter=${() => point(number)}
              onMouseLeave=${() => point(null)} onFocus=${() => hold(number)}
              onClick=${() => hold(number)}>
            <span class="seg-fname"><i></i>${one.name}</span>
            <span class="seg-fvalue">${shown(one)}</span>
          </button>
        </li>`,
    )}
  </ul>`;
}

/** @param {Answer.FieldShown} one */
function shown(one) {
  if (one.hidden) return "hidden";
  if (one.value === null) return bytes(one.end - one.start);
  if (one.name === "attributes")
    return one.type === "int16"
      ? `0b${(Number(one.value) & 0x7f).toString(2).padStart(7, "0")}`
      : String(one.value);
  if (one.name.endsWith("Timestamp") && one.time_ms !== null)
    return time(one.time_ms, { day: false });
  if (one.name === "crc") return `0x${hex(Number(one.value), 8)}`;
  return typeof one.value === "number" ? count(one.value) : one.value;
}

/**
 * The explanation of the selected field.
 *
 * @param {{ field: Answer.FieldShown, raw: any, from: number, data: Answer.BytesNamed }} props
 */
function Explanation({ field, raw, from, data }) {
  const own = raw.subarray(
    Math.max(0, field.start - from),
    Math.max(0, Math.min(field.end - from, raw.length)),
  );
  const isVarint = field.zigzag !== null;
  return html`<div class="seg-told" aria-live="polite">
    <div class="spread">
      <h3>
        ${field.name} <span class="quiet">
          ${field.type}
          , ${
            field.end - field.start === 1
              ? `byte ${field.start}`
              : `bytes ${field.start} to ${field.end - 1}`
          }
        </span>
      </h3>
      <b>${field.time_ms !== null ? time(field.time_ms) : shown(field)}</b>
    </div>
    <p>${field.note}</p>
    ${field.meaning && html`<p class="mono seg-meaning">${field.meaning}</p>`}
    ${
      field.name === "crc" &&
      data.crcIsRight !== undefined &&
      html`<p class=${data.crcIsRight ? "seg-right" : "seg-wrong"}>
        ${
          data.crcIsRight
            ? "The CRC matches the bytes."
            : "The CRC does not match the bytes: the batch is damaged."
        }
      </p>`
    }
    ${field.bits.length > 0 && html`<${Bits} bits=${field.bits} />`}
    ${
      isVarint &&
      own.length > 0 &&
      html`<${Varint} field=${field} own=${own} says=${data.varint} />`
    }
  </div>`;
}

/** @param {{ name: string, value: string, raw: any }} props */
function bitClass({ name, value, raw }) {
  if (name === "unused") return "idle";
  return value === "yes" || /[1-9]/.test(raw) ? "set" : "";
}

/** @param {{ bits: Answer.BitsShown[] }} props */
function Bits({ bits }) {
  return html`
    <div class="seg-bits">
      ${[...bits].reverse().map(
        (one) =>
          html`<div key=${one.name} class=${bitClass(one)} title=${one.note}>
            <code>${one.raw}</code>
            <span>${one.name}</span>
            <b>${one.value || "–"}</b>
            <small>bit ${one.bits}</small>
          </div>`,
      )}
    </div>
    <ul class="seg-bitnotes">
      ${bits
        .filter((one) => one.name !== "unused")
        .map((one) => html`<li key=${one.name}><b>${one.name}</b> ${one.note}</li>`)}
    </ul>
  `;
}

/**
 * The steps from the bytes of a varint to its number.
 *
 * @param {{ field: Answer.FieldShown, own: any, says: any }} props
 */
function Varint({ field, own, says }) {
  const groups = Array.from(own, (byte) => [
    byte >> 7,
    (byte & 0x7f).toString(2).padStart(7, "0"),
    byte,
  ]);
  return html`<div class="seg-varint">
    <div class="row">
      ${groups.map(
        ([more, bits, byte], at) =>
          html`<span key=${at} class="seg-vbyte"
              title=${more ? "more bytes follow" : "the last byte"}>
            <small>${hex(byte)}</small>
            <code><i>${more}</i>${bits}</code>
          </span>`,
      )}
      <span class="seg-arrow">→</span>
      <code>
        ${[...groups]
          .reverse()
          .map(([, bits]) => bits)
          .join(" ")}
      </code>
      <span class="seg-arrow">=</span>
      <b>${count(field.zigzag)}</b>
      <span class="seg-arrow">→ zigzag →</span>
      <b>${count(Number(field.value))}</b>
    </div>
    <p class="quiet">${says}</p>
  </div>`;
}
