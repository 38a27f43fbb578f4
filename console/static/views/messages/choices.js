// @ts-check
// The form of the page of messages: the place, the partitions, the search and the filter.

import { html } from "../../vendor/preact.js";
import { Button, Check, count, Field, SearchBox } from "../../parts/index.js";
import { PLACES } from "./query.js";

const NEED_MORE = ["offset", "time", "range"];
const SEVERAL = "several";
const FIELDS =
  "Fields: value, key, headers, partition, offset, timestamp, size. Write && for and, || for or, " +
  "! for not. Texts: .contains(…), .startsWith(…), .endsWith(…), .matches(…). Also: in, has(…).";

/**
 * @param {{
 *   form: any, setForm: Call, go: Call, partitions: Answer.HeldOffsets[], leftOut: number[]
 * }} props `leftOut`: partitions that are read if they are chosen
 */
export function Choices({ form, setForm, go, partitions, leftOut }) {
  const set = (change) => setForm({ ...form, ...change });
  const needsMore = NEED_MORE.includes(form.place);
  const isRange = form.place === "range";
  const staysLive = form.live && !needsMore;
  const hasDirection = needsMore && !isRange;
  return html`<form class="choices" onSubmit=${(event) => {
    event.preventDefault();
    go({ live: staysLive });
  }}>
    <div class="row">
      <${Field} label="Show">
        <select value=${form.place} onChange=${(event) => {
          const place = event.target.value;
          if (NEED_MORE.includes(place)) set({ place });
          else go({ place, live: false });
        }}>${PLACES.map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select>
      <//>
      ${
        form.place === "offset" &&
        html`<${Field} label="Offset">
          <input type="number" min="0" value=${form.offset}
              onInput=${(event) => set({ offset: event.target.value })} />
        <//>`
      }
      ${
        (form.place === "time" || isRange) &&
        html`<${Field} label="${isRange ? "From" : "Time"}, in the browser's time zone">
          <input type="datetime-local" step="1" value=${form.moment}
              onInput=${(event) => set({ moment: event.target.value })} />
        <//>`
      }
      ${
        isRange &&
        html`<${Field} label="To, without it">
          <input type="datetime-local" step="1" value=${form.until}
              onInput=${(event) => set({ until: event.target.value })} />
        <//>`
      }
      ${
        hasDirection &&
        html`<${Field} label="Direction">
          <select value=${form.earlier ? "earlier" : "later"}
              onChange=${(event) => set({ earlier: event.target.value === "earlier" })}>
            <option value="later">at or after it</option>
            <option value="earlier">before it</option>
          </select>
        <//>`
      }
      <${Partitions} form=${form} set=${set} go=${go} partitions=${partitions}
          leftOut=${leftOut} />
      ${(needsMore || form.several) && html`<${Button} type="submit" kind="primary">Show<//>`}
      <span class="last">
        <${Check} label="Include open and aborted transactions" checked=${form.uncommitted}
            onChange=${(on) => go({ uncommitted: on })} />
      </span>
    </div>
    <div class="row finding">
      <div class="grow">
        <${SearchBox} label="Find in keys, values and headers" value=${form.q}
            onInput=${(text) => set({ q: text })} />
      </div>
      <select aria-label="Search in" value=${form.parts}
          onChange=${(event) => set({ parts: event.target.value })}>
        <option value="">everywhere</option>
        <option value="value">in values</option>
        <option value="key">in keys</option>
        <option value="headers">in headers</option>
      </select>
      <select aria-label="Order of matches" value=${form.finds}
          onChange=${(event) => set({ finds: event.target.value })}>
        <option value="">newest first</option>
        <option value="oldest">oldest first</option>
      </select>
      <${Check} label="Match case" checked=${form.case} onChange=${(on) => set({ case: on })} />
      <${Check} label="Regex" checked=${form.regex} onChange=${(on) => set({ regex: on })} />
      <${Button} type="submit" kind=${needsMore ? "" : "primary"}>
        ${staysLive ? "Search in the live view" : "Search"}
      <//>
      ${
        (form.q || form.filter) &&
        html`<${Button} kind="plain" onClick=${() => go({ q: "", filter: "" })}>Clear<//>`
      }
    </div>
    <div class="row finding">
      <input class="grow mono" type="text" aria-label="Filter by fields" spellcheck=${false}
          autocomplete="off" value=${form.filter} maxlength="1000"
          placeholder='Filter: value.status == "PAID" && value.amount > 100'
          title=${FIELDS} onInput=${(event) => set({ filter: event.target.value })} />
    </div>
  </form>`;
}

/**
 * The choice of all partitions, a single one, or several by their numbers.
 *
 * @param {{
 *   form: any, set: Call, go: Call, partitions: Answer.HeldOffsets[], leftOut: number[]
 * }} props
 */
function Partitions({ form, set, go, partitions, leftOut }) {
  return html`
    <${Field} label="Partition">
      <select value=${form.several ? SEVERAL : form.partition} onChange=${(event) => {
        const partition = event.target.value;
        if (partition === SEVERAL) set({ several: true });
        else go({ partition, several: false });
      }}>
        <option value="">${leftOut.length ? "the first" : "all"} ${partitions.length || ""}</option>
        ${partitions.length > 1 && html`<option value=${SEVERAL}>several…</option>`}
        ${partitions.map(
          (held) =>
            html`<option value=${held.partition}>
              ${held.partition} · offsets ${count(held.first)} to ${count(held.end)}
            </option>`,
        )}
        ${leftOut.map((index) => html`<option value=${index}>${index}</option>`)}
      </select>
    <//>
    ${
      form.several &&
      html`<${Field} label="Partitions">
        <input type="text" class="numbers" placeholder="0,3-5" value=${form.partition}
            onInput=${(event) => set({ partition: event.target.value })} />
      <//>`
    }
  `;
}
