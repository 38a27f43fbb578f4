// @ts-check
// The page of replicas: the leader, replicas and ISR of each partition, updated live.

import { html, useMemo, useReducer, useRef, useState } from "../vendor/preact.js";
import { useAddressFlag, useAddressState } from "../address.js";
import { useStream } from "../api.js";
import {
  Check,
  Empty,
  ErrorLine,
  Page,
  Panel,
  SearchBox,
  Tile,
  Tiles,
  Waiting,
  count,
  plural,
  shortNames,
  Time,
} from "../parts/index.js";
import { FRESH_MS, Rows } from "./replica_rows.js";

const EVENTS_MAX = 300;

export function Replicas() {
  const [word, setWord] = useAddressState("topic");
  const [internal, setInternal] = useAddressFlag("internal");
  const [problems, setProblems] = useAddressFlag("problems");
  const state = useRef(empty());
  const [turn, again] = useReducer((one) => one + 1, 0);
  const [trouble, setTrouble] = useState(null);
  const { error, again: restart } = useStream("/api/replicas", (event) => {
    setTrouble("error" in event ? event.error : null);
    if ("number" in event) {
      apply(state.current, event);
      again();
      if (!event.everything) setTimeout(again, FRESH_MS + 500);
    }
  });
  const { brokers, counts, events } = state.current;
  const rows = useMemo(
    () => chosen(state.current, word, internal, problems),
    [turn, word, internal, problems],
  );
  return html`<${Page} title="Replicas"
      about="The replicas, leader and ISR of each partition, updated every second."
      actions=${html`
        <${SearchBox} label="Find a topic" value=${word} onInput=${setWord} />
        <${Check} label="Only with problems" checked=${problems} onChange=${setProblems} />
        <${Check} label="Internal topics" checked=${internal} onChange=${setInternal} />
      `}>
    <${ErrorLine} error=${error ?? trouble} onAgain=${error && restart} />
    ${counts === null && !error && html`<${Waiting} />`}
    ${
      counts &&
      html`
        <${Figures} counts=${counts} brokers=${brokers} />
        <div class="replicas-main">
          <${Panel}
              title=${`${plural(rows.length, "partition")} on ${plural(brokers.length, "broker")}`}
              actions=${html`<${Legend} />`} inside=${false} label="Replicas">
            ${
              rows.length
                ? html`<${Rows} rows=${rows} brokers=${brokers} />`
                : html`<${Empty}
                      title=${problems ? "All replicas are in sync" : "No partition matches"}>
                    ${problems ? "" : html`Select “Internal topics” to include internal topics.`}
                  <//>`
            }
          <//>
          <${Panel} title="Recent events" inside=${false}><${Events} events=${events} /><//>
        </div>
      `
    }
  <//>`;
}

/**
 * The partitions, brokers and events that the page has received.
 *
 * @typedef {{
 *   key: string, topic: string, index: number, at: number, leader: number,
 *   replicas: number[], isr: number[], offline: number[],
 * }} Placed
 * @typedef {{
 *   brokers: Answer.MapBroker[],
 *   counts: Answer.MapCounts | null,
 *   partitions: Map<string, Placed>,
 *   internal: Set<string>,
 *   events: Answer.MapNews["events"],
 * }} State
 * @returns {State}
 */
function empty() {
  return { brokers: [], counts: null, partitions: new Map(), internal: new Set(), events: [] };
}

/**
 * Apply an event: it has all partitions, or those that changed since the last event.
 *
 * @param {State} state
 * @param {Answer.MapNews} event
 */
function apply(state, event) {
  if (event.everything) {
    state.partitions.clear();
    state.internal.clear();
  }
  for (const name of event.internal) state.internal.add(name);
  for (const [place, index, leader, replicas, isr, offline] of event.partitions) {
    const topic = event.topics[place];
    const key = `${topic}-${index}`;
    if (leader === null) state.partitions.delete(key);
    else
      state.partitions.set(key, {
        key,
        topic,
        index,
        leader,
        replicas,
        isr,
        offline,
        at: event.everything ? 0 : Date.now(),
      });
  }
  state.brokers = event.brokers;
  state.counts = event.counts;
  // A reopened stream sends everything again, also the events.
  state.events = [...event.events.reverse(), ...(event.everything ? [] : state.events)].slice(
    0,
    EVENTS_MAX,
  );
}

/**
 * Return the partitions to show, by topic and number.
 *
 * @param {State} state
 * @param {string} word
 * @param {boolean} internal
 * @param {boolean} problems
 */
function chosen(state, word, internal, problems) {
  const wanted = word.toLowerCase();
  const partitions = [];
  for (const one of state.partitions.values()) {
    if (!internal && state.internal.has(one.topic) && !(problems && one.leader < 0)) continue;
    if (wanted && !one.topic.toLowerCase().includes(wanted)) continue;
    if (problems && one.isr.length === one.replicas.length && one.leader >= 0) continue;
    partitions.push(one);
  }
  return partitions.sort((a, b) => {
    if (a.topic === b.topic) return a.index - b.index;
    return a.topic < b.topic ? -1 : 1;
  });
}

/** @param {{ counts: Answer.MapCounts, brokers: Answer.MapBroker[] }} props */
function Figures({ counts, brokers }) {
  const gone = brokers.filter((one) => !one.alive);
  return html`<div aria-live="polite">
    <${Tiles}>
      <${Tile} label="Brokers alive" value=${html`<span class=${gone.length ? "bad-figure" : ""}>
        ${brokers.length - gone.length} of ${brokers.length}
      </span>`}
          below=${
            gone.length ? `down: ${gone.map((one) => one.id).join(", ")}` : "all brokers alive"
          } />
      <${Figure} label="Without a leader" value=${counts.leaderless}
          fine="every partition has a leader" wrong="clients cannot read or write them" />
      <${Figure} label="Under min ISR" value=${counts.under_min_isr} fine="acks=all succeeds"
          wrong="acks=all fails" />
      <${Figure} label="Under-replicated" value=${counts.under_replicated}
          fine="all replicas in sync" wrong=${`of ${count(counts.partitions)} partitions`} />
      <${Tile} label="Not led by the preferred replica" value=${count(counts.not_preferred)}
          below="partitions" />
    <//>
  </div>`;
}

/** @param {{ label: string, value: number | null, fine: any, wrong: any }} props */
function Figure({ label, value, fine, wrong }) {
  const judged = value ? wrong : fine;
  return html`<${Tile} label=${label}
      value=${html`<span class=${value ? "bad-figure" : ""}>${count(value)}</span>`}
      below=${value === null ? "hidden from the console's login" : judged} />`;
}

function Legend() {
  return html`<div class="legend">
    ${[
      ["lead", "leader"],
      ["sync", "in sync"],
      ["out", "not in sync"],
      ["off", "offline"],
    ].map(([kind, word]) => html`<span><i class="rep ${kind}"></i>${word}</span>`)}
  </div>`;
}

/** @param {{ events: Answer.MapNews["events"] }} props */
function Events({ events }) {
  if (!events.length)
    return html`<${Empty} title="No events yet">
      Stop a broker to see leader elections and ISR changes here.
    <//>`;
  return html`<ol class="events" aria-live="polite" tabindex="0" aria-label="Recent events">
    ${events.map(
      ([number, at, kind, text]) =>
        html`<li key=${number} class=${kind}>
          <${Time} ms=${at} day=${false} millis=${false} />
          <span title=${text}>${shortNames(text)}</span>
        </li>`,
    )}
  </ol>`;
}
