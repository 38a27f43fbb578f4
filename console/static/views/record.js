// @ts-check
// One record: a line of it, and all of it, harmless whatever is in it.

import { html, useMemo, useState } from "../vendor/preact.js";
import { path, useGet } from "../api.js";
import {
  Badge,
  Button,
  ErrorLine,
  JsonTree,
  Text,
  Waiting,
  ago,
  bytes,
  count,
  plural,
  time,
} from "../parts/index.js";

const LINE = 400;
const HEX_BYTES = 4096;

/** Bytes of `{text}` or `{base64}`. */
export function bytesOf(data) {
  if (data.base64 === undefined) return new TextEncoder().encode(data.text);
  return Uint8Array.from(atob(data.base64), (one) => one.charCodeAt(0));
}

/** JSON whose whole numbers stay exact, however large; undefined where it is no object and no
 * list. */
export function jsonOf(data) {
  if (!data || data.text === undefined || data.cut || !/^\s*[[{]/.test(data.text)) return undefined;
  try {
    return JSON.parse(data.text, (_, value, context) =>
      typeof value === "number" &&
      !Number.isSafeInteger(value) &&
      /^-?\d+$/.test(context?.source ?? "")
        ? BigInt(context.source)
        : value,
    );
  } catch {
    return undefined;
  }
}

/** A value in a line. */
export function Line({ data, what }) {
  if (data === null) return html`<span class="null">null</span>`;
  if (data.base64 !== undefined) {
    const shown = [...bytesOf({ base64: data.base64.slice(0, 64) })].map(hex).join(" ");
    return html`<span class="mono">
      <span class="kind">hex</span> ${shown}${data.size > 48 ? " …" : ""}
    </span>`;
  }
  if (data.text === "") return html`<span class="null">empty${what ? ` ${what}` : ""}</span>`;
  return html`<span class="mono">
    <${Text} value=${data.text.slice(0, LINE)} />
    ${data.text.length > LINE || data.cut ? "…" : ""}
  </span>`;
}

function hex(one) {
  return one.toString(16).padStart(2, "0");
}

/**
 * Rows of records, each of which opens. `onAgain(record)`: send it again; none: it may not.
 *
 * @param {{
 *   topic: string, records: Answer.RecordShown[], several: boolean, uncommitted: any,
 *   onAgain: Call, label: string,
 * }} props
 */
export function Records({ topic, records, several, uncommitted, onAgain, label }) {
  const [open, setOpen] = useState(() => new Set());
  function turn(id) {
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  }
  // A row that is as it was is not looked at again: hundreds of them stand while new ones come.
  const closed = useMemo(() => new WeakMap(), [several]);
  function line(one, id, isOpen) {
    const known = isOpen ? undefined : closed.get(one);
    if (known) return known;
    const made = html`<tr key=${id} class="line ${isOpen ? "is-open" : ""}" onClick=${(event) =>
      event.target.closest("button, a") || getSelection()?.toString() || turn(id)}>
      <td>
        <button type="button" class="fold" aria-expanded=${isOpen}
            aria-label="Record ${one.partition}-${one.offset}" onClick=${() => turn(id)}>
          ${isOpen ? "▾" : "▸"}
        </button>
      </td>
      ${several && html`<td class="number">${one.partition}</td>`}
      <td class="number">${count(one.offset)}</td>
      <td class="nowrap" title=${ago(one.timestamp)}>${time(one.timestamp)}</td>
      <td class="key"><${Line} data=${one.decoded?.key ?? one.key} what="key" /></td>
      <td class="value">
        ${
          one.value === null
            ? html`<${Badge} kind="warn" plain title="Null value: compaction deletes the key">
                ${one.key === null ? "null" : "tombstone"}
              <//>`
            : html`<${Line} data=${one.decoded?.value ?? one.value} what="value" />`
        }
      </td>
      <td class="number">${bytes(one.size)}</td>
    </tr>`;
    if (!isOpen) closed.set(one, made);
    return made;
  }
  return html`<div class="table-box">
    <table class="data records" aria-label=${label}>
      <thead>
        <tr>
          <th scope="col"><span class="hidden-text">Open</span></th>
          ${several && html`<th scope="col" class="number">Partition</th>`}
          <th scope="col" class="number">Offset</th>
          <th scope="col">Timestamp</th>
          <th scope="col">Key</th>
          <th scope="col" class="value">Value</th>
          <th scope="col" class="number">Size</th>
        </tr>
      </thead>
      <tbody>
        ${records.flatMap((one) => {
          const id = `${one.partition}:${one.offset}`;
          const isOpen = open.has(id);
          if (!isOpen) return [line(one, id, isOpen)];
          return [
            line(one, id, isOpen),
            html`<tr key="${id}+" class="more">
              <td colspan=${several ? 7 : 6}>
                <${Whole} topic=${topic} record=${one} uncommitted=${uncommitted}
                    onAgain=${onAgain} />
              </td>
            </tr>`,
          ];
        })}
      </tbody>
    </table>
  </div>`;
}

/** @param {{ topic: string, record: Answer.RecordShown, uncommitted: any, onAgain: Call }} props */
function Whole({ topic, record, uncommitted, onAgain }) {
  const isCut = record.key?.cut || record.value?.cut || record.decoded?.value?.cut;
  const place = path("/api/topics/{}/messages/{}/{}", topic, record.partition, record.offset, {
    uncommitted,
  });
  const { data, error } = useGet(isCut ? place : null);
  const whole = data ?? record;
  const file = (part) =>
    path("/api/topics/{}/messages/{}/{}/{}", topic, record.partition, record.offset, part, {
      uncommitted,
    });
  return html`<div class="whole">
    <div class="spread">
      <span class="quiet">
        ${topic}-${record.partition} ·
        offset ${count(record.offset)} · ${time(record.timestamp)} · ${ago(record.timestamp)}
      </span>
      <span class="row">
        ${record.value && html`<a class="button" href=${file("value")} download>Save value</a>`}
        ${onAgain && html`<${Button} onClick=${() => onAgain(whole)}>Send again<//>`}
      </span>
    </div>
    <${ErrorLine} error=${error} />
    ${isCut && !data && !error && html`<${Waiting} what="Reading the whole record" />`}
    <${Part} name="Key" data=${whole.key} decoded=${whole.decoded?.key} file=${file("key")} />
    <${Part} name="Value" data=${whole.value} decoded=${whole.decoded?.value} about=${whole.decoded}
        file=${file("value")} />
    ${
      whole.headers.length > 0 &&
      html`<section>
        <h3>${plural(whole.headers.length + (whole.more_headers ?? 0), "header")}</h3>
        <dl class="facts headers">
          ${whole.headers.map(
            ([name, value]) => html`
              <dt class="mono"><${Text} value=${name} /></dt>
              <dd>
                <${Line} data=${value} />
                ${value?.cut && html` <span class="quiet">${bytes(value.size)}</span>`}
              </dd>
            `,
          )}
        </dl>
        ${
          whole.more_headers &&
          html`<p class="quiet">${plural(whole.more_headers, "more header")} not shown</p>`
        }
      </section>`
    }
  </div>`;
}

const NAMES = { json: "JSON", text: "Text", hex: "Hex" };

/**
 * @param {{
 *   name: string, data: any, decoded: any, about: Answer.DecodedRecord | undefined, file: any,
 * }} props
 */
function Part({ name, data, decoded, about, file }) {
  const shown = decoded ?? data;
  const json = useMemo(() => jsonOf(shown), [shown]);
  const forms =
    data === null
      ? []
      : [
          ...(json === undefined ? [] : ["json"]),
          ...(shown.text === undefined ? [] : ["text"]),
          "hex",
        ];
  const [chosen, choose] = useState(null);
  const form = forms.includes(chosen) ? chosen : forms[0];
  return html`<section>
    <div class="part-head">
      <h3>${name}</h3>
      ${data && html`<span class="quiet">${bytes(data.size)}</span>`}
      ${about?.schema && html`<${Badge} kind="info" plain>${about.schema}<//>`}
      ${about?.problem && html`<${Badge} kind="warn" plain>${about.problem}<//>`}
      <span class="forms" role="group" aria-label="Format of ${name}">
        ${
          forms.length > 1 &&
          forms.map(
            (one) =>
              html`<button type="button" class="plain" aria-pressed=${form === one}
                  onClick=${() => choose(one)}>${NAMES[one]}</button>`,
          )
        }
      </span>
    </div>
    ${
      data === null &&
      html`<span class="null">
        null${name === "Value" ? ": a tombstone, so compaction deletes the key" : ""}
      </span>`
    }
    ${form === "json" && html`<${JsonTree} value=${json} open=${3} />`}
    ${
      form === "text" &&
      (shown.text === ""
        ? html`<span class="null">empty</span>`
        : html`<pre class="text"><${Text} value=${shown.text} /></pre>`)
    }
    ${form === "hex" && html`<${Hex} data=${bytesOf(data)} />`}
    ${
      shown?.cut &&
      html`<p class="quiet">
        Only a part of ${bytes(data.size)} is shown. <a href=${file} download>Save all</a>
      </p>`
    }
  </section>`;
}

function Hex({ data }) {
  const rows = [];
  for (let at = 0; at < Math.min(data.length, HEX_BYTES); at += 16) {
    const part = [...data.subarray(at, at + 16)];
    const signs = part
      .map((one) => (one > 31 && one < 127 ? String.fromCharCode(one) : "·"))
      .join("");
    rows.push(
      `${at.toString(16).padStart(6, "0")}  ${part.map(hex).join(" ").padEnd(47)}  ${signs}`,
    );
  }
  return html`
    <pre class="hex">${rows.join("\n")}</pre>
    ${
      data.length > HEX_BYTES &&
      html`<p class="quiet">Only the first ${bytes(HEX_BYTES)} are shown.</p>`
    }
  `;
}
