// @ts-check
// The dialog that resets a group's offsets: the new position, the partitions, and a preview.

import { html, useState } from "../vendor/preact.js";
import { path, post } from "../api.js";
import { Button, Check, Dialog, ErrorLine, Field, Note, count, plural } from "../parts/index.js";
import { capital, termsOf } from "./group_words.js";

/** @type {[string, string | null, string | null][]} */
const PLACES = [
  ["start", null, null],
  ["end", null, null],
  ["time", "A time", "datetime-local"],
  ["ago", "A duration before now", "text"],
  ["offset", "An offset", "number"],
  ["last", "The last N records of each partition", "number"],
];

/** @param {{ data: Answer.GroupShown, onClose: Call, onDone: Call }} props */
export function Reset({ data, onClose, onDone }) {
  const [place, setPlace] = useState("start");
  const [value, setValue] = useState("");
  const [off, setOff] = useState(() => notChosenAtFirst(data));
  const terms = termsOf(data.type);
  const [own, setOwn] = useState({});
  const [plan, setPlan] = useState(null);
  const [error, setError] = useState(null);
  const [done, setDone] = useState(false);
  const [busy, setBusy] = useState(false);
  const chosen = data.partitions.filter((one) => !off.has(id(one)));

  async function ask(moves, execute) {
    setBusy(true);
    setError(null);
    try {
      return await post(path("/api/group/reset", { group: data.group }), { moves, execute });
    } catch (failure) {
      setError(failure.message);
      return null;
    } finally {
      setBusy(false);
    }
  }
  async function preview() {
    const to = word(place, value);
    if (to === null) {
      setError("enter a value for the new position");
      return;
    }
    const found = await ask(
      chosen.map((one) => ({
        topic: one.topic,
        partition: one.partition,
        to: (own[id(one)] ?? "").trim() || to,
      })),
      false,
    );
    if (found) setPlan(found.rows);
  }
  async function move() {
    const moves = plan.map((one) => ({
      topic: one.topic,
      partition: one.partition,
      to: String(one.new),
    }));
    if (await ask(moves, true)) {
      setDone(true);
      onDone();
    }
  }
  function choose(one, isOn) {
    const next = new Set(off);
    if (isOn) next.delete(id(one));
    else next.add(id(one));
    setOff(next);
  }

  let footer = [
    html`<${Button} onClick=${onClose}>Cancel<//>`,
    html`<${Button} type="submit" kind="primary" disabled=${busy || !chosen.length}>
      Preview
    <//>`,
  ];
  if (done) footer = [html`<${Button} type="submit" kind="primary">Close<//>`];
  else if (plan)
    footer = [
      html`<${Button} onClick=${() => setPlan(null)}>Back<//>`,
      html`<${Button} type="submit" kind="primary" disabled=${busy || !plan.length}>
        Reset ${plural(plan.length, "partition")}
      <//>`,
    ];
  function submit() {
    if (done) onClose();
    else if (plan) move();
    else preview();
  }
  return html`<${Dialog} title=${`Reset offsets of ${data.group}`} onClose=${onClose}
      onSubmit=${submit} footer=${footer}>
    <${ErrorLine} error=${error} />
    ${done && html`<${Note}>The offsets are reset. Members start there when they join again.<//>`}
    ${
      plan
        ? html`<${Plan} rows=${plan} isDone=${done} type=${data.type} />`
        : html`
            <div class="grid">
              <${Field} label="New position">
                <select value=${place} onChange=${(event) => setPlace(event.target.value)}>
                  ${PLACES.map(
                    ([key, name]) => html`<option value=${key}>${name ?? terms[key]}</option>`,
                  )}
                </select>
              <//>
              <${Value} place=${place} value=${value} onInput=${setValue} />
            </div>
            <${Choice} partitions=${data.partitions} terms=${terms} off=${off} onChoose=${choose}
                onAll=${(isOn) => setOff(new Set(isOn ? [] : data.partitions.map(id)))} own=${own}
                onOwn=${setOwn} />
          `
    }
  <//>`;
}

/**
 * Return the ids of the partitions that are not chosen at first: a reset of them would be their
 * first commit. A share group has all of its partitions from the start.
 *
 * @param {Answer.GroupShown} data
 */
function notChosenAtFirst({ type, partitions }) {
  const without = type === "share" ? [] : partitions.filter((one) => one.committed === null);
  return new Set(without.map(id));
}

/** @param {{ place: string, value: string, onInput: Call }} props */
function Value({ place, value, onInput }) {
  const kind = PLACES.find(([key]) => key === place)?.[2];
  if (!kind) return null;
  const label = {
    time: "Time, in the browser's time zone",
    ago: "Duration, such as 30s, 15m, 2h or 7d",
    offset: "Offset",
    last: "Number of records",
  }[place];
  return html`<${Field} label=${label}>
    <input type=${kind} min="0" step=${kind === "datetime-local" ? "1" : undefined} value=${value}
        onInput=${(event) => onInput(event.target.value)} />
  <//>`;
}

/**
 * @param {{
 *   partitions: Answer.GroupPartition[], terms: any, off: any, onChoose: Call, onAll: Call,
 *   own: any, onOwn: Call,
 * }} props
 */
function Choice({ partitions, terms, off, onChoose, onAll, own, onOwn }) {
  return html`<div class="stack">
    <div class="spread">
      <${Check} label=${`All ${plural(partitions.length, "partition")}`} checked=${off.size === 0}
          onChange=${onAll} />
      <span class="quiet">
        Override for one partition: start, end, an offset, -10 (last 10 records), @2h (2 hours ago)
      </span>
    </div>
    <div class="table-box choice">
      <table class="data" aria-label="Partitions to move">
        <tbody>
          ${partitions.slice(0, 1000).map(
            (one) =>
              html`<tr key=${id(one)}>
                <td>
                  <${Check} label=${`${one.topic}-${one.partition}`} checked=${!off.has(id(one))}
                      onChange=${(isOn) => onChoose(one, isOn)} />
                </td>
                <td class="number quiet">${terms.offset} ${count(one.committed)}</td>
                <td class="right">
                  <input class="own" aria-label=${`Override for ${one.topic}-${one.partition}`}
                      placeholder="same as above" value=${own[id(one)] ?? ""}
                      onInput=${(event) => onOwn({ ...own, [id(one)]: event.target.value })} />
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </div>`;
}

/** @param {{ rows: Answer.MovedPartition[], isDone: boolean, type: string }} props */
function Plan({ rows, isDone, type }) {
  const total = rows.reduce((sum, one) => sum + (one.new - (one.committed ?? one.new)), 0);
  return html`
    ${!isDone && html`<p>${effect(total, type)} This is a preview: nothing has changed yet.</p>`}
    <div class="table-box choice">
      <table class="data" aria-label="Planned changes">
        <thead>
          <tr>
            <th scope="col">Partition</th>
            <th class="number" scope="col">${capital(termsOf(type).offset)}</th>
            <th class="number" scope="col">New offset</th>
            <th class="number" scope="col">Change (records)</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map((one) => {
            const change = one.committed === null ? null : one.new - one.committed;
            return html`<tr key=${id(one)}>
              <td>${one.topic}-${one.partition}</td>
              <td class="number">${count(one.committed)}</td>
              <td class="number strong">${count(one.new)}</td>
              <td class="number ${["back", "quiet", "late"][Math.sign(change ?? 0) + 1]}">
                ${change === null ? "–" : `${change > 0 ? "+" : ""}${count(change)}`}
              </td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
  `;
}

/**
 * @param {number} total
 * @param {string} type
 */
function effect(total, type) {
  if (type === "share")
    return "The group delivers all records from the new offsets on, also finished ones.";
  if (total === 0) return "No offset changes.";
  return total < 0
    ? `The group reads ${count(-total)} records again.`
    : `The group skips ${count(total)} records.`;
}

/**
 * @param {string} place
 * @param {string} value
 */
function word(place, value) {
  const text = value.trim();
  if (place === "start" || place === "end") return place;
  if (!text) return null;
  if (place === "time") return `@${new Date(text).getTime()}`;
  if (place === "ago") return `@${text}`;
  if (place === "last") return `-${text}`;
  return text;
}

/** @param {{ topic: string, partition: number }} one */
function id(one) {
  return `${one.topic} ${one.partition}`;
}
