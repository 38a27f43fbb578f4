// @ts-check
// The form: which records, from where, and what to look for.

import { html } from "../../vendor/preact.js";
import { Button, Check, count, Field, SearchBox } from "../../parts/index.js";
import { PLACES } from "./query.js";

/**
 * @param {{
 *   form: any, setForm: Call, go: Call, partitions: Answer.HeldOffsets[], leftOut: number[]
 * }} props `leftOut`: partitions that are read if they are chosen
 */
export function Choices({ form, setForm, go, partitions, leftOut }) {
  const set = (change) => setForm({ ...form, ...change });
  const needsMore = form.place === "offset" || form.place === "time";
  return html`<form class="choices" onSubmit=${(event) => {
    event.preventDefault();
    go({ live: false });
  }}>
    <div class="row">
      <${Field} label="Show">
        <select value=${form.place} onChange=${(event) => {
          const place = event.target.value;
          if (place === "offset" || place === "time") set({ place });
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
        form.place === "time" &&
        html`<${Field} label="Time, in the browser's time zone">
          <input type="datetime-local" step="1" value=${form.moment}
              onInput=${(event) => set({ moment: event.target.value })} />
        <//>`
      }
      ${
        needsMore &&
        html`<${Field} label="Direction">
          <select value=${form.earlier ? "earlier" : "later"}
              onChange=${(event) => set({ earlier: event.target.value === "earlier" })}>
            <option value="later">at or after it</option>
            <option value="earlier">before it</option>
          </select>
        <//>`
      }
      <${Field} label="Partition">
        <select value=${form.partition}
            onChange=${(event) => go({ partition: event.target.value })}>
          <option value="">
            ${leftOut.length ? "the first" : "all"} ${partitions.length || ""}
          </option>
          ${partitions.map(
            (one) =>
              html`<option value=${one.partition}>
                ${one.partition} · offsets ${count(one.first)} to ${count(one.end)}
              </option>`,
          )}
          ${leftOut.map((one) => html`<option value=${one}>${one}</option>`)}
        </select>
      <//>
      ${needsMore && html`<${Button} type="submit" kind="primary">Show<//>`}
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
      <${Button} type="submit" kind=${needsMore ? "" : "primary"}>Search<//>
      ${form.q && html`<${Button} kind="plain" onClick=${() => go({ q: "" })}>Clear<//>`}
    </div>
  </form>`;
}
