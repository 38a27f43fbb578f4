// @ts-check
// The table of replicas, a row for each partition. Only the visible rows are in the document. With
// many partitions, there is also a block for each topic, which leads to its rows.

import { html, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { count, plural } from "../parts/index.js";

const ROW = 28;
const AHEAD = 10;
const STRIP_FROM = 400;
const BLOCKS_MAX = 1500;
export const FRESH_MS = 6000;

export function Rows({ rows, brokers }) {
  const box = useRef(null);
  const [seen, setSeen] = useState({ from: 0, to: 60 });
  function look() {
    const from = Math.max(0, Math.floor(box.current.scrollTop / ROW) - AHEAD);
    const to = from + Math.ceil(box.current.clientHeight / ROW) + 2 * AHEAD;
    setSeen((before) => (before.from === from && before.to === to ? before : { from, to }));
  }
  useLayoutEffect(look, [rows.length]);
  const from = Math.min(seen.from, Math.max(0, rows.length - 1));
  const shown = rows.slice(from, seen.to);
  const below = rows.length - seen.to;
  const columns = brokers.map((one) => one.id);
  // Memoized, so that scrolling does not render its thousand blocks again.
  const strip = useMemo(
    () =>
      rows.length > STRIP_FROM &&
      html`<${Strip} rows=${rows} onGo=${(at) => {
        box.current.scrollTop = at * ROW;
      }} />`,
    [rows],
  );
  return html`
    ${strip}
    <div class="table-box replica-box" ref=${box} onScroll=${look} tabindex="0" role="region"
        aria-label="Map of replicas">
      <table class="replica-map" aria-label="Replicas by partition and broker"
          aria-rowcount=${rows.length}>
        <thead>
          <tr>
            <th scope="col">Partition</th>
            ${brokers.map(
              (one) =>
                html`<th scope="col" class=${one.alive ? "" : "gone"} title=${
                  one.host
                    ? `${one.host}:${one.port}${one.rack ? `, rack ${one.rack}` : ""}`
                    : "broker is down"
                }>
                  ${one.id}
                  ${one.alive ? "" : html`<span class="away">down</span>`}
                </th>`,
            )}
            <th scope="col">ISR</th>
          </tr>
        </thead>
        <tbody>
          ${
            from > 0 &&
            html`<tr aria-hidden="true">
              <td colspan=${columns.length + 2} class="pad" style=${pad(from)}></td>
            </tr>`
          }
          ${shown.map(
            (one, at) =>
              html`<tr key=${one.key} class=${rowClass(one, rows[from + at - 1])}>
                <th scope="row" title=${one.key}>
                  <span class="topic">${one.topic}</span>-${one.index}
                </th>
                ${columns.map((id) => html`<td>${replica(one, id)}</td>`)}
                <td class="isr ${one.isr.length < one.replicas.length ? "short" : ""}">
                  ${one.isr.join(" ") || "none"}
                </td>
              </tr>`,
          )}
          ${
            below > 0 &&
            html`<tr aria-hidden="true">
              <td colspan=${columns.length + 2} class="pad" style=${pad(below)}></td>
            </tr>`
          }
        </tbody>
      </table>
    </div>
  `;
}

/**
 * Return the style of the placeholder for rows that are not visible.
 *
 * @param {number} many
 */
function pad(many) {
  return { height: `${many * ROW}px` };
}

function rowClass(one, before) {
  const isFresh = Date.now() - one.at < FRESH_MS;
  return `${one.topic !== before?.topic ? "first" : ""} ${isFresh ? "fresh" : ""}`;
}

function replica(one, id) {
  if (!one.replicas.includes(id)) return null;
  const place = one.replicas.indexOf(id) === 0 ? ", preferred" : "";
  const [kind, word] = stateOf(one, id);
  return html`<i class="rep ${kind}" role="img" aria-label=${`${word}${place}`}
      title=${`${one.key} on broker ${id}: ${word}${place}`}></i>`;
}

function stateOf(one, id) {
  if (one.leader === id) return ["lead", "leader"];
  if (one.offline.includes(id)) return ["off", "offline"];
  return one.isr.includes(id) ? ["sync", "in sync"] : ["out", "not in sync"];
}

/** A block for each topic, coloured by its worst partition; a click scrolls to the topic's rows. */
function Strip({ rows, onGo }) {
  const topics = [];
  rows.forEach((one, at) => {
    if (topics.at(-1)?.topic !== one.topic)
      topics.push({ topic: one.topic, at, many: 0, short: 0, headless: 0 });
    const topic = topics.at(-1);
    topic.many += 1;
    if (one.leader < 0) topic.headless += 1;
    else if (one.isr.length < one.replicas.length) topic.short += 1;
  });
  if (topics.length > BLOCKS_MAX)
    topics.sort((a, b) => b.headless + b.short - a.headless - a.short);
  const left = Math.max(0, topics.length - BLOCKS_MAX);
  return html`<div class="topic-strip" role="group" aria-label="Topics">
    ${topics.slice(0, BLOCKS_MAX).map((one) => {
      const facts = [`${one.topic}: ${plural(one.many, "partition")}`];
      if (one.headless) facts.push(`${one.headless} without a leader`);
      if (one.short) facts.push(`${one.short} under-replicated`);
      const words = facts.join(", ");
      const calm = one.short ? "out" : "sync";
      const kind = one.headless ? "off" : calm;
      return html`<button type="button" key=${one.topic} class="rep ${kind}" title=${words}
          aria-label=${words} onClick=${() => onGo(one.at)}></button>`;
    })}
    ${left > 0 && html`<span class="quiet">and ${count(left)} more topics</span>`}
  </div>`;
}
