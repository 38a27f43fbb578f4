// @ts-check
// All of a record, harmless whatever is in it.

import { html, useMemo, useState } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
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
} from "../../parts/index.js";
import { Line } from "./line.js";
import { bytesOf, hex, jsonOf } from "./values.js";

const HEX_BYTES = 4096;

/** @param {{ topic: string, record: Answer.RecordShown, uncommitted: any, onAgain: Call }} props */
export function Opened({ topic, record, uncommitted, onAgain }) {
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
