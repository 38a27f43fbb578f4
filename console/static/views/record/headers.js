// @ts-check
// The headers of an opened record, each as text or bytes.

import { html, useState } from "../../vendor/preact.js";
import { bytes, count, plural, Text } from "../../parts/index.js";
import { Forms, Hex } from "./part.js";
import { bytesOf, formsOf } from "./values.js";

const HEADERS_SHOWN = 100;
const TEXT_SHOWN = 400;

/**
 * @param {{
 *   headers: [string, Answer.BytesShown | null][], more: number | undefined, file: string,
 * }} props
 */
export function Headers({ headers, more = 0, file }) {
  const [isWhole, setWhole] = useState(false);
  if (headers.length === 0) return null;
  const shown = isWhole ? headers : headers.slice(0, HEADERS_SHOWN);
  return html`<section>
    <div class="part-head">
      <h3>${plural(headers.length + more, "header")}</h3>
      <a class="forms" href=${file} download>Save headers</a>
    </div>
    <ul class="headers">
      ${shown.map(([name, data], at) => html`<${Header} key=${at} name=${name} data=${data} />`)}
    </ul>
    ${
      shown.length < headers.length &&
      html`<button type="button" onClick=${() => setWhole(true)}>
        Show all ${count(headers.length)} headers
      </button>`
    }
    ${
      more > 0 &&
      html`<p class="quiet">The last ${plural(more, "header")} are only in the saved file.</p>`
    }
  </section>`;
}

/** @param {{ name: string, data: Answer.BytesShown | null }} props */
function Header({ name, data }) {
  const [chosen, choose] = useState(null);
  const forms = data === null ? [] : formsOf(data, false);
  const form = forms.includes(chosen) ? chosen : forms[0];
  return html`<li>
    <div class="header-name mono">
      ${name === "" ? html`<span class="null">empty name</span>` : html`<${Text} value=${name} />`}
    </div>
    <div class="header-value">
      ${data === null && html`<span class="null">null</span>`}
      ${form === "text" && html`<${HeaderText} text=${data?.text ?? ""} />`}
      ${data && form === "hex" && html`<${Hex} data=${bytesOf(data)} />`}
      ${
        data?.cut &&
        html`<p class="quiet">Cut: all ${bytes(data.size)} are in the saved headers.</p>`
      }
    </div>
    <${Forms} of=${`header ${name}`} forms=${forms} chosen=${form} choose=${choose} />
  </li>`;
}

/** @param {{ text: string }} props */
function HeaderText({ text }) {
  const [isWhole, setWhole] = useState(false);
  if (text === "") return html`<span class="null">empty</span>`;
  if (isWhole || text.length <= TEXT_SHOWN)
    return html`<span class="mono"><${Text} value=${text} /></span>`;
  return html`<span class="mono"><${Text} value=${text.slice(0, TEXT_SHOWN)} />…</span> <button
      type="button" class="plain" onClick=${() => setWhole(true)}>
    Show all ${count(text.length)} characters
  </button>`;
}
