// @ts-check
// The key or the value of an opened record, as JSON, text or bytes.

import { html, useMemo, useState } from "../../vendor/preact.js";
import { Badge, bytes, count, JsonTree, Text } from "../../parts/index.js";
import { bytesOf, formsOf, hex, jsonOf, wholeNumberOf } from "./values.js";

const HEX_BYTES = 4096;
const TEXT_SHOWN = 256 * 1024;

const NAMES = { json: "JSON", text: "Text", hex: "Hex" };

/**
 * @param {{
 *   name: string, data: Answer.BytesShown | null, decoded: Answer.BytesShown | undefined,
 *   about?: Answer.DecodedRecord, whenNull: string, file: string,
 * }} props
 */
export function Part({ name, data, decoded, about, whenNull, file }) {
  const shown = decoded ?? data;
  const node = useMemo(() => jsonOf(shown), [shown]);
  const [chosen, choose] = useState(null);
  if (data === null || shown === null)
    return html`<section>
      <div class="part-head"><h3>${name}</h3></div>
      <span class="null">${whenNull}</span>
    </section>`;
  const forms = formsOf(shown, node !== undefined);
  const form = forms.includes(chosen) ? chosen : forms[0];
  return html`<section>
    <div class="part-head">
      <h3>${name}</h3>
      <span class="quiet">${bytes(data.size)}</span>
      ${about?.schema && html`<${Badge} kind="info" plain>${about.schema}<//>`}
      ${about?.problem && html`<${Badge} kind="warn" plain>${about.problem}<//>`}
      <${Forms} of=${name} forms=${forms} chosen=${form} choose=${choose} />
    </div>
    ${form === "json" && html`<${JsonTree} node=${node} open=${3} />`}
    ${form === "text" && html`<${WholeText} text=${shown.text} />`}
    ${form === "hex" && html`<${Hex} data=${bytesOf(data)} />`}
    ${
      shown.cut &&
      html`<p class="quiet">
        Only the first ${bytes(bytesOf(shown).length)} of ${bytes(data.size)} are shown, without
        JSON. <a href=${file} download>Save all</a>
      </p>`
    }
  </section>`;
}

/**
 * The buttons by which a format is chosen; none if there is no choice.
 *
 * @param {{ of: string, forms: string[], chosen: string, choose: Call }} props
 */
export function Forms({ of, forms, chosen, choose }) {
  return html`<span class="forms" role="group" aria-label="Format of ${of}">
    ${
      forms.length > 1 &&
      forms.map(
        (form) =>
          html`<button type="button" class="plain" aria-pressed=${form === chosen}
              onClick=${() => choose(form)}>${NAMES[form]}</button>`,
      )
    }
  </span>`;
}

/** @param {{ text: string }} props */
function WholeText({ text }) {
  const [isWhole, setWhole] = useState(false);
  if (text === "") return html`<span class="null">empty</span>`;
  const isLong = !isWhole && text.length > TEXT_SHOWN;
  const shown = isLong ? text.slice(0, TEXT_SHOWN) : text;
  return html`<pre class="text"><${Text} value=${shown} /></pre>
    ${
      isLong &&
      html`<button type="button" onClick=${() => setWhole(true)}>
        Show all ${count(text.length)} characters
      </button>`
    }`;
}

/**
 * The first bytes in hexadecimal, sixteen a line. Four or eight bytes are also shown as a number.
 *
 * @param {{ data: Uint8Array }} props
 */
export function Hex({ data }) {
  const rows = [];
  for (let at = 0; at < Math.min(data.length, HEX_BYTES); at += 16) {
    const part = [...data.subarray(at, at + 16)];
    const signs = part
      .map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·"))
      .join("");
    rows.push(
      `${at.toString(16).padStart(6, "0")}  ${part.map(hex).join(" ").padEnd(47)}  ${signs}`,
    );
  }
  const number = wholeNumberOf(data);
  return html`
    ${
      data.length === 0
        ? html`<span class="null">empty</span>`
        : html`<pre class="hex">${rows.join("\n")}</pre>`
    }
    ${
      number !== undefined &&
      html`<p class="quiet">As int${data.length * 8}: <code>${String(number)}</code></p>`
    }
    ${
      data.length > HEX_BYTES &&
      html`<p class="quiet">Only the first ${bytes(HEX_BYTES)} are shown.</p>`
    }
  `;
}
