// @ts-check
// A search, and what it has found so far.

import { html, useRef, useState } from "../../vendor/preact.js";
import { path, useStream } from "../../api.js";
import { Button, bytes, count, Empty, ErrorLine, Panel, plural } from "../../parts/index.js";
import { Export } from "./export.js";
import { Records } from "../record/rows.js";
import { searchedOf } from "./query.js";

const KEPT = 500;
/** @type {Answer.RecordShown[]} */
const NONE = [];

/** @param {{ topic: string, q: Q, [rest: string]: any }} props */
export function Search({ topic, q, ...rest }) {
  const [stopped, setStopped] = useState(false);
  const [cursor, setCursor] = useState("");
  const [found, setFound] = useState(NONE);
  const [progress, setProgress] = useState(/** @type {Answer.SearchEvent | null} */ (null));
  const kept = useRef(NONE);
  const before = useRef(NONE);
  const order = q.finds === "oldest" ? null : "newest";
  const query = { ...searchedOf(q), cursor, order };
  const { error, done, again } = useStream(
    stopped ? null : path("/api/topics/{}/search", topic, query),
    (event) => {
      // The stream starts, or restarts.
      if (event.scanned === 0 && event.found === 0) kept.current = [];
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
    setCursor(progress?.cursor ?? "");
  }
  if (error && !progress) return html`<${ErrorLine} error=${error} onAgain=${again} />`;
  return html`
    <${ErrorLine} error=${error} onAgain=${again} />
    <${Panel} label="Search results"
        title=${html`${plural(found.length, "match", "matches")} for <${Sought} q=${q} />`}
        inside=${false} actions=${html`
          <${Export} topic=${topic} q=${q} />
          ${!isOver && html`<${Button} onClick=${() => setStopped(true)}>Stop<//>`}
          ${progress?.ended === "full" && html`<${Button} onClick=${more}>Continue<//>`}
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
            html`<${Empty} title=${stopped ? "Stopped before the first match" : "No match"}>
              ${
                q.filter
                  ? "A record without a field of the filter does not match."
                  : "Search without “Match case”, in all partitions, or from the oldest record."
              }
            <//>`
      }
    <//>
  `;
}

/**
 * The text and the filter of the search.
 *
 * @param {{ q: Q }} props
 */
function Sought({ q }) {
  const sought = [...(q.q ? [`“${shortened(q.q)}”`] : []), ...(q.filter ? ["the filter"] : [])];
  return sought.join(" and ");
}

/** @param {string} text */
function shortened(text) {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** @param {Answer.SearchEvent | null} progress */
function percent(progress) {
  if (!progress) return 0;
  return progress.total ? Math.min(100, (100 * progress.scanned) / progress.total) : 100;
}

/**
 * The progress of a search in words.
 *
 * @param {Answer.SearchEvent | null} progress
 * @param {boolean} isOver
 * @param {boolean} stopped
 */
function words(progress, isOver, stopped) {
  if (!progress) return "Starting";
  const done = [
    `scanned ${count(progress.scanned)} of ${count(progress.total)} offsets`,
    bytes(progress.bytes),
    `${progress.seconds.toFixed(1)} s`,
    ...(progress.decodes ? ["decodes each record"] : []),
  ].join(", ");
  if (progress.ended === "full") return `${done}: stopped, as there are more matches`;
  if (stopped) return `${done}: stopped`;
  return isOver ? `${done}: finished` : done;
}
