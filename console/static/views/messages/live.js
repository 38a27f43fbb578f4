// @ts-check
// Records as they are written.

import { html, useCallback, useEffect, useRef, useState } from "../../vendor/preact.js";
import { path, useStream } from "../../api.js";
import { Badge, Button, count, Empty, ErrorLine, Note, Panel, plural } from "../../parts/index.js";
import { idOf, Records } from "../record/rows.js";
import { searchOf } from "./query.js";

const LIVE_KEPT = 200;
const SCROLLED = 160;

/** @param {{ topic: string, q: Q, [rest: string]: any }} props */
export function Live({ topic, q, ...rest }) {
  const [records, setRecords] = useState(/** @type {Answer.RecordShown[]} */ ([]));
  const [open, setOpen] = useState(/** @type {Set<string>} */ (new Set()));
  const [held, setHeld] = useState(false);
  const [scrolled, setScrolled] = useScrolled();
  const [waiting, setWaiting] = useState(0);
  const [counts, setCounts] = useState({ dropped: 0, trouble: "" });
  const [gap, setGap] = useState({ written: 0, skipped: 0 });
  const [begun, setBegun] = useState(false);
  const cursor = useRef("");
  const buffer = useRef(/** @type {Answer.RecordShown[]} */ ([]));
  const isPaused = held || scrolled || open.size > 0;
  const paused = useRef(false);
  paused.current = isPaused;
  function show() {
    const fresh = buffer.current.reverse();
    buffer.current = [];
    setWaiting(0);
    if (fresh.length) setRecords((before) => [...fresh, ...before].slice(0, LIVE_KEPT));
  }
  useEffect(() => {
    if (!isPaused) show();
  }, [isPaused]);
  const turn = useCallback((/** @type {string} */ id) => setOpen((ids) => turned(ids, id)), []);
  /** @param {Answer.TailEvent} event */
  function take(event) {
    let dropped = event.dropped;
    buffer.current.push(...event.records);
    if (buffer.current.length > LIVE_KEPT) {
      dropped += buffer.current.length - LIVE_KEPT;
      buffer.current.splice(0, buffer.current.length - LIVE_KEPT);
    }
    setCounts((before) => ({
      dropped: before.dropped + dropped,
      trouble: event.waiting ?? "",
    }));
    if (event.cursor) cursor.current = event.cursor;
    setBegun(true);
    if (event.resumed !== undefined) setGap({ written: event.resumed, skipped: event.dropped });
    if (paused.current) setWaiting(buffer.current.length);
    else show();
  }
  const tail = path("/api/topics/{}/tail", topic, tailOf(q));
  const stream = useStream(tail, take, () => ({ cursor: cursor.current }));
  function resume() {
    setHeld(false);
    setOpen(new Set());
    scrollTo(0, 0);
    setScrolled(false);
  }
  function clear() {
    setRecords((before) => before.filter((record) => open.has(idOf(record))));
  }
  const [kind, state] = stateOf(stream, begun, isPaused, counts.trouble);
  return html`
    <${ErrorLine} error=${stream.error} onAgain=${stream.again} />
    ${
      counts.trouble &&
      !stream.error &&
      html`<${Note} kind="warn">
        Waiting for the cluster; the live view then continues at the next record. ${counts.trouble}
      <//>`
    }
    ${
      gap.skipped > 0 &&
      html`<${Note}>
        ${plural(gap.written, "record")} were written while this tab was hidden or not connected.
        ${count(gap.skipped)} of them are skipped.
      <//>`
    }
    <${Panel} inside=${false} label="Live" title=${html`<span class="row">
      <${Badge} kind=${kind}>${state}<//>
      <span>${plural(records.length, q.q || q.filter ? "matching record" : "record")}</span>
    </span>`} actions=${html`
      ${
        counts.dropped > 0 &&
        html`<span class="quiet" title="Records arrived faster than the page can show them">
          ${count(counts.dropped)} skipped
        </span>`
      }
      <${Button} pressed=${held} onClick=${() => setHeld(!held)}>${held ? "Resume" : "Pause"}<//>
      <${Button} onClick=${clear}>Clear<//>
    `}>
      ${
        isPaused &&
        html`<div class="paused" role="status">
          ${pausedWords(waiting, open.size)}
          <${Button} onClick=${resume}>${waiting ? "Show new records" : "Resume"}<//>
        </div>`
      }
      ${
        records.length === 0
          ? html`<${Empty} title="Waiting for records">
              New records of ${topic} ${q.q || q.filter ? "that match the search " : ""}appear here.
            <//>`
          : html`<${Records} topic=${topic} records=${records} uncommitted=${q.uncommitted}
                ...${rest} open=${open} onTurn=${turn} />`
      }
    <//>
  `;
}

/** Return whether the page is scrolled down, and a function that sets this. */
function useScrolled() {
  const [scrolled, setScrolled] = useState(false);
  useEffect(() => {
    const look = () => setScrolled(scrollY > SCROLLED);
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  return /** @type {const} */ ([scrolled, setScrolled]);
}

/**
 * The query of the endpoint: the partitions, and what a record must match.
 *
 * @param {Q} q
 */
function tailOf(q) {
  return { partition: q.partition, uncommitted: q.uncommitted, ...searchOf(q) };
}

/**
 * @param {Set<string>} ids
 * @param {string} id
 */
function turned(ids, id) {
  const after = new Set(ids);
  if (!after.delete(id)) after.add(id);
  return after;
}

/**
 * The badge of the live view: its kind and its word.
 *
 * @param {Api.Heard} stream
 * @param {boolean} isPaused
 * @param {string} trouble
 */
function stateOf(stream, begun, isPaused, trouble) {
  if (stream.error) return ["bad", "ended"];
  if (trouble) return ["warn", "waiting"];
  if (isPaused) return ["warn", "paused"];
  // Only from its first event on, which has the offsets, could another stream go on.
  return stream.open && begun ? ["good", "live"] : ["", "connecting"];
}

/**
 * @param {number} waiting
 * @param {number} opened
 */
function pausedWords(waiting, opened) {
  const why = opened ? `Paused while ${plural(opened, "record")} stands open` : "Paused";
  return waiting ? `${why}: ${plural(waiting, "new record")} waiting` : why;
}
