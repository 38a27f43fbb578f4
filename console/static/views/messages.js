// The records of a topic: the newest, from an offset or a time on, found by a search, or as they come.

import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { path, useGet, useStream } from "../api.js";
import {
  Badge,
  Button,
  Check,
  Empty,
  ErrorLine,
  Field,
  Note,
  Page,
  Panel,
  SearchBox,
  Tabs,
  Waiting,
  bytes,
  count,
  plural,
} from "../parts/index.js";
import { Produce } from "./produce.js";
import { Records } from "./record.js";
import { topicTabs } from "./topic.js";

const PAGE = 50;
const KEPT = 500;
const LIVE_KEPT = 200;
const PLACES = [
  ["newest", "Newest"],
  ["oldest", "Oldest"],
  ["offset", "From offset…"],
  ["time", "From time…"],
  ["5m", "Last 5 minutes"],
  ["1h", "Last hour"],
  ["1d", "Last day"],
];

export function Messages({ params, about }) {
  const { topic, q } = params;
  const [form, setForm] = useState(() => formOf(q));
  const asked = JSON.stringify(q);
  useEffect(() => setForm(formOf(q)), [asked]);
  const [again, setAgain] = useState(undefined);
  const [written, setWritten] = useState(null);
  const ends = useGet(path("/api/topics/{}/messages", topic, { count: 1 }));
  const partitions = (ends.data?.partitions ?? []).map((one) => one.partition);

  function go(change) {
    const next = { ...form, ...change };
    setForm(next);
    location.hash = path("/topics/{}/messages", topic, queryOf(next));
  }

  const mode = q.live ? Live : q.q ? Search : List;
  const common = {
    topic,
    q,
    several: partitions.length > 1 && !q.partition,
    label: `Records of ${topic}`,
    onAgain: about.writes ? (record) => setAgain(record) : undefined,
    written,
  };
  return html`<${Page} title=${topic} crumbs=${[["Topics", "#/topics"]]} actions=${[
    about.writes && html`<${Button} onClick=${() => setAgain(null)}>Write a record<//>`,
    html`<${Button} pressed=${Boolean(q.live)} onClick=${() => go({ live: !q.live, q: "" })}>
      ${q.live ? "Live" : "Watch live"}
    <//>`,
  ]}>
    <${Tabs} items=${topicTabs(topic)} current="messages" />
    <${Panel} label="What is shown">
      <${Choices} form=${form} setForm=${setForm} go=${go}
          partitions=${ends.data?.partitions ?? []} />
    <//>
    <${ErrorLine} error=${ends.error} />
    ${
      written &&
      html`<${Note}>
        Written to partition ${written.partition}
        ${
          written.offset >= 0 &&
          html` at <a
                href=${`#${path("/topics/{}/messages", topic, { partition: written.partition, from: written.offset, order: "oldest" })}`}>
              offset ${count(written.offset)}
            </a>
          `
        }.
      <//>`
    }
    ${!ends.error && html`<${mode} key=${mode.name + (q.live || q.q ? asked : "")} ...${common} />`}
    ${
      again !== undefined &&
      html`<${Produce} topic=${topic} partitions=${partitions} record=${again}
          onClose=${() => setAgain(undefined)} onDone=${(place) => {
            setAgain(undefined);
            setWritten(place);
            ends.again();
          }} />`
    }
  <//>`;
}

// --- what was chosen ----------------------------------------------------------------------------

function formOf(q) {
  const from = q.from ?? "";
  let place = q.order === "oldest" ? "oldest" : "newest";
  let offset = "";
  let moment = "";
  if (/^@\d+[smhd]$/.test(from) && PLACES.some(([id]) => id === from.slice(1)))
    place = from.slice(1);
  else if (from.startsWith("@")) [place, moment] = ["time", localTime(from.slice(1))];
  else if (/^\d+$/.test(from)) [place, offset] = ["offset", from];
  return {
    place,
    offset,
    moment,
    earlier: from !== "" && q.order !== "oldest",
    partition: q.partition ?? "",
    q: q.q ?? "",
    live: Boolean(q.live),
    regex: Boolean(q.regex),
    case: Boolean(q.case),
    parts: q.parts ?? "",
    finds: q.finds ?? "",
    uncommitted: Boolean(q.uncommitted),
  };
}

function localTime(text) {
  const at = new Date(/^\d+$/.test(text) ? Number(text) : text);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

function queryOf(form) {
  const from = fromOf(form);
  const isRange = from !== null;
  return {
    partition: form.partition,
    from,
    order:
      form.place === "newest" ||
      (form.earlier && (form.place === "offset" || form.place === "time"))
        ? isRange
          ? "newest"
          : null
        : "oldest",
    q: form.live ? null : form.q,
    live: form.live ? 1 : null,
    uncommitted: form.uncommitted ? 1 : null,
    ...(form.q && !form.live
      ? {
          regex: form.regex ? 1 : null,
          case: form.case ? 1 : null,
          parts: form.parts,
          finds: form.finds,
        }
      : {}),
  };
}

function fromOf({ place, offset, moment }) {
  if (place === "offset") return offset === "" ? null : offset;
  if (place === "time") return moment === "" ? null : `@${new Date(moment).getTime()}`;
  return /^\d/.test(place) ? `@${place}` : null;
}

function Choices({ form, setForm, go, partitions }) {
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
        html`<${Field} label="Time, in your zone">
          <input type="datetime-local" step="1" value=${form.moment}
              onInput=${(event) => set({ moment: event.target.value })} />
        <//>`
      }
      ${
        needsMore &&
        html`<${Field} label="Which way">
          <select value=${form.earlier ? "earlier" : "later"}
              onChange=${(event) => set({ earlier: event.target.value === "earlier" })}>
            <option value="later">and later</option>
            <option value="earlier">and before</option>
          </select>
        <//>`
      }
      <${Field} label="Partition">
        <select value=${form.partition}
            onChange=${(event) => go({ partition: event.target.value })}>
          <option value="">all ${partitions.length || ""}</option>
          ${partitions.map(
            (one) =>
              html`<option value=${one.partition}>
                ${one.partition} · ${count(one.first)} to ${count(one.end)}
              </option>`,
          )}
        </select>
      <//>
      ${needsMore && html`<${Button} type="submit" kind="primary">Show<//>`}
      <span class="last">
        <${Check} label="Also of open and aborted transactions" checked=${form.uncommitted}
            onChange=${(on) => go({ uncommitted: on })} />
      </span>
    </div>
    <div class="row finding">
      <div class="grow">
        <${SearchBox} label="Find in keys, values and headers" value=${form.q}
            onInput=${(text) => set({ q: text })} />
      </div>
      <select aria-label="Where to look" value=${form.parts}
          onChange=${(event) => set({ parts: event.target.value })}>
        <option value="">everywhere</option>
        <option value="value">in values</option>
        <option value="key">in keys</option>
        <option value="headers">in headers</option>
      </select>
      <select aria-label="Which finds come first" value=${form.finds}
          onChange=${(event) => set({ finds: event.target.value })}>
        <option value="">newest first</option>
        <option value="oldest">oldest first</option>
      </select>
      <${Check} label="Case" checked=${form.case} onChange=${(on) => set({ case: on })} />
      <${Check} label="Regex" checked=${form.regex} onChange=${(on) => set({ regex: on })} />
      <${Button} type="submit" kind=${needsMore ? "" : "primary"}>Search<//>
      ${form.q && html`<${Button} kind="plain" onClick=${() => go({ q: "" })}>Clear<//>`}
    </div>
  </form>`;
}

// --- a page -------------------------------------------------------------------------------------

function List({ topic, q, written, ...rest }) {
  const [cursors, setCursors] = useState([]);
  const base = {
    partition: q.partition,
    from: q.from,
    order: q.order,
    uncommitted: q.uncommitted,
    count: PAGE,
  };
  const which = JSON.stringify(base);
  useEffect(() => setCursors([]), [which]);
  const { data, error, loading, again } = useGet(
    path("/api/topics/{}/messages", topic, { ...base, cursor: cursors.at(-1) }),
  );
  useEffect(() => {
    if (written) again();
  }, [written]); // what one wrote is to be seen
  const [older, newer] = q.order === "oldest" ? ["Later", "Earlier"] : ["Older", "Newer"];
  const held = (data?.partitions ?? []).reduce((sum, one) => sum + one.end - one.first, 0);
  const actions = html`
    <${Button} disabled=${cursors.length === 0} onClick=${() => setCursors(cursors.slice(0, -1))}>
      ← ${newer}
    <//>
    <${Button} disabled=${!data?.cursor} onClick=${() => {
      setCursors([...cursors, data.cursor]);
      scrollTo(0, 0);
    }}>${older} →<//>
    <${Button} label="Read again" title="Read again" onClick=${again}>↻<//>
  `;
  return html`
    <${ErrorLine} error=${error} />
    ${loading && html`<${Waiting} what="Reading" />`}
    ${
      data &&
      html`<${Panel} title=${title(q, data.records.length, held)} inside=${false}
          actions=${actions}>
        ${
          data.partial &&
          html`<div class="inside">
            <${Note}>The records are large: this page ends early. “${older}” goes on.<//>
          </div>`
        }
        ${
          data.records.length === 0
            ? html`<${Empty} title=${held ? "No records there" : "The topic is empty"}>
                ${
                  held
                    ? "Choose another place or partition."
                    : html`<code>echo hello | ottla produce ${topic}</code>`
                }
              <//>`
            : html`<${Records} topic=${topic} records=${data.records} uncommitted=${q.uncommitted}
                  ...${rest} />`
        }
      <//>`
    }
  `;
}

function title(q, shown, held) {
  const of = `of ${plural(held, "offset")}`;
  if (q.from)
    return `${plural(shown, "record")} ${q.order === "oldest" ? "from there on" : "before that"}, ${of}`;
  return q.order === "oldest" ? `The oldest ${shown} ${of}` : `The newest ${shown} ${of}`;
}

// --- a search -----------------------------------------------------------------------------------

function Search({ topic, q, ...rest }) {
  const [stopped, setStopped] = useState(false);
  const [cursor, setCursor] = useState("");
  const [found, setFound] = useState([]);
  const [progress, setProgress] = useState(null);
  const kept = useRef([]);
  const before = useRef([]);
  const query = {
    q: q.q,
    regex: q.regex,
    case: q.case,
    parts: q.parts,
    partition: q.partition,
    uncommitted: q.uncommitted,
    cursor,
    order: q.finds === "oldest" ? null : "newest",
    ...(q.order === "oldest" ? { from: q.from } : { to: q.from }),
  };
  const { error, done } = useStream(
    stopped ? null : path("/api/topics/{}/search", topic, query),
    (event) => {
      if (event.scanned === 0 && event.found === 0) kept.current = []; // it begins, perhaps anew
      if (event.finds) {
        kept.current = [...kept.current, ...event.finds];
        setFound([...before.current, ...kept.current]);
      }
      setProgress(event);
    },
  );
  const isOver = done || stopped || Boolean(progress?.ended);
  function more() {
    before.current = found.slice(-KEPT);
    kept.current = [];
    setCursor(progress.cursor);
  }
  return html`
    <${ErrorLine} error=${error} />
    <${Panel} label="What was found"
        title=${html`${plural(found.length, "find")} of “<${Quoted} text=${q.q} />”`}
        inside=${false} actions=${html`
          ${!isOver && html`<${Button} onClick=${() => setStopped(true)}>Stop<//>`}
          ${progress?.ended === "full" && html`<${Button} onClick=${more}>Look on<//>`}
        `}>
      <div class="inside searched" role="status">
        <div class="progress"><div style=${{ width: `${percent(progress)}%` }}></div></div>
        <span class="quiet">${words(progress, isOver, stopped)}</span>
      </div>
      ${
        found.length > 0
          ? html`<${Records} topic=${topic} records=${found} uncommitted=${q.uncommitted}
                ...${rest} />`
          : isOver &&
            !error &&
            html`<${Empty} title=${stopped ? "Stopped before anything was found" : "Nothing found"}>
              Try without case, in all partitions, or from the start.
            <//>`
      }
    <//>
  `;
}

function Quoted({ text }) {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function percent(progress) {
  if (!progress) return 0;
  return progress.total ? Math.min(100, (100 * progress.scanned) / progress.total) : 100;
}

function words(progress, isOver, stopped) {
  if (!progress) return "Beginning";
  const done = `scanned ${count(progress.scanned)} of ${count(progress.total)}, ${bytes(progress.bytes)}, ${progress.seconds.toFixed(1)} s`;
  if (progress.ended === "full") return `${done}: enough found for now`;
  return stopped ? `${done}: stopped` : isOver ? `${done}: all of it` : done;
}

// --- live ---------------------------------------------------------------------------------------

const SCROLLED = 160;

function Live({ topic, q, ...rest }) {
  const [records, setRecords] = useState([]);
  const [held, setHeld] = useState(false);
  const [scrolled, setScrolled] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const [counts, setCounts] = useState({ seen: 0, dropped: 0 });
  const buffer = useRef([]);
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
  const state = error
    ? ["bad", "ended"]
    : isPaused
      ? ["warn", "paused"]
      : open
        ? ["good", "live"]
        : ["", "connecting"];
  return html`
    <${ErrorLine} error=${error} />
    <${Panel} inside=${false} label="Live" title=${html`<span class="row">
      <${Badge} kind=${state[0]}>${state[1]}<//>
      <span>${plural(records.length, "record")}</span>
    </span>`} actions=${html`
      ${
        counts.dropped > 0 &&
        html`<span class="quiet" title="They came faster than a page can show">
          ${count(counts.dropped)} passed over
        </span>`
      }
      <${Button} pressed=${held} onClick=${() => setHeld(!held)}>${held ? "Go on" : "Pause"}<//>
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
          }}>${waiting ? "Show them" : "Go on"}<//>
        </div>`
      }
      ${
        records.length === 0
          ? html`<${Empty} title="Waiting for records">
              What is written to ${topic} from now on shows up here.
            <//>`
          : html`<${Records} topic=${topic} records=${records} uncommitted=${q.uncommitted}
                ...${rest} />`
      }
    <//>
  `;
}
