// @ts-check
// Records as they come.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { path, useStream } from "../../api.js";
import { Badge, Button, count, Empty, ErrorLine, Panel, plural } from "../../parts/index.js";
import { Records } from "../record/rows.js";

const LIVE_KEPT = 200;
const SCROLLED = 160;

/** @param {{ topic: string, q: Q, [rest: string]: any }} props */
export function Live({ topic, q, ...rest }) {
  const [records, setRecords] = useState(/** @type {Answer.RecordShown[]} */ ([]));
  const [held, setHeld] = useState(false);
  const [scrolled, setScrolled] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const [counts, setCounts] = useState({ seen: 0, dropped: 0 });
  const buffer = useRef(/** @type {Answer.RecordShown[]} */ ([]));
  const isPaused = held || scrolled;
  const paused = useRef(false);
  paused.current = isPaused;
  useEffect(() => {
    const look = () => setScrolled(scrollY > SCROLLED);
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  function show() {
    const fresh = buffer.current.reverse();
    buffer.current = [];
    setWaiting(0);
    if (fresh.length) setRecords((before) => [...fresh, ...before].slice(0, LIVE_KEPT));
  }
  useEffect(() => {
    if (!isPaused) show();
  }, [isPaused]);
  const { error, open } = useStream(
    path("/api/topics/{}/tail", topic, { partition: q.partition, uncommitted: q.uncommitted }),
    (event) => {
      let dropped = event.dropped;
      buffer.current.push(...event.records);
      if (buffer.current.length > LIVE_KEPT) {
        dropped += buffer.current.length - LIVE_KEPT;
        buffer.current.splice(0, buffer.current.length - LIVE_KEPT);
      }
      setCounts((before) => ({
        seen: before.seen + event.records.length,
        dropped: before.dropped + dropped,
      }));
      if (paused.current) setWaiting(buffer.current.length);
      else show();
    },
  );
  let state = open ? ["good", "live"] : ["", "connecting"];
  if (error) state = ["bad", "ended"];
  else if (isPaused) state = ["warn", "paused"];
  return html`
    <${ErrorLine} error=${error} />
    <${Panel} inside=${false} label="Live" title=${html`<span class="row">
      <${Badge} kind=${state[0]}>${state[1]}<//>
      <span>${plural(records.length, "record")}</span>
    </span>`} actions=${html`
      ${
        counts.dropped > 0 &&
        html`<span class="quiet" title="Records arrived faster than the page can show them">
          ${count(counts.dropped)} skipped
        </span>`
      }
      <${Button} pressed=${held} onClick=${() => setHeld(!held)}>${held ? "Resume" : "Pause"}<//>
      <${Button} onClick=${() => setRecords([])}>Clear<//>
    `}>
      ${
        isPaused &&
        html`<div class="paused" role="status">
          ${waiting ? `${plural(waiting, "new record")} waiting` : "Paused"}
          <${Button} onClick=${() => {
            setHeld(false);
            scrollTo(0, 0);
            setScrolled(false);
          }}>${waiting ? "Show new records" : "Resume"}<//>
        </div>`
      }
      ${
        records.length === 0
          ? html`<${Empty} title="Waiting for records">
              New records of ${topic} appear here.
            <//>`
          : html`<${Records} topic=${topic} records=${records} uncommitted=${q.uncommitted}
                ...${rest} />`
      }
    <//>
  `;
}
