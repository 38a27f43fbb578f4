// @ts-check
// A page of records.

import { html, useEffect, useRef } from "../../vendor/preact.js";
import { goTo } from "../../address.js";
import { path, useGet } from "../../api.js";
import * as links from "../../links.js";
import { Button, Empty, ErrorLine, Note, Panel, Waiting } from "../../parts/index.js";
import { Export } from "./export.js";
import { title } from "./query.js";
import { Records } from "../record/rows.js";

const PAGE = 50;

/**
 * @param {{ topic: string, q: Q, written: Answer.WrittenRecord | null, [rest: string]: any }} props
 */
export function List({ topic, q, written, ...rest }) {
  const base = {
    partition: q.partition,
    from: q.from,
    to: q.to,
    order: q.order,
    uncommitted: q.uncommitted,
    count: PAGE,
  };
  const { data, error, loading, again } = useGet(
    path("/api/topics/{}/messages", topic, { ...base, cursor: q.cursor }),
  );
  useEffect(() => {
    if (written) again();
  }, [written]);
  const held = (data?.partitions ?? []).reduce((sum, one) => sum + one.end - one.first, 0);
  const actions = html`
    <${Export} topic=${topic} q=${q} />
    <${Pages} q=${q} next=${data?.cursor ?? null} />
    <${Button} label="Reload" title="Reload" onClick=${again}>↻<//>
  `;
  return html`
    <${ErrorLine} error=${error} onAgain=${again} />
    ${loading && html`<${Waiting} what="Reading records" />`}
    ${
      data &&
      html`<${Panel} title=${title(q, data.records.length, held)} inside=${false}
          actions=${actions}>
        ${
          data.partial &&
          html`<div class="inside">
            <${Note}>The records are large, so this page is short. The next page shows more.<//>
          </div>`
        }
        ${
          data.records.length === 0
            ? html`<${Empty} title=${held ? "No records at this position" : "The topic is empty"}>
                ${
                  held
                    ? "Choose another position or partition."
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

/**
 * The buttons that lead to the page before and after, each an entry in the browser's history. After
 * a reload, the page before this one is not known, and the first page stands in for it.
 *
 * @param {{ q: Q, next: string | null }} props
 */
function Pages({ q, next }) {
  const current = q.cursor ?? "";
  const pages = useRef([""]);
  if (!pages.current.includes(current)) pages.current = current ? ["", current] : [""];
  const at = pages.current.indexOf(current);
  const isForward = q.order === "oldest";
  function show(/** @type {string} */ cursor) {
    goTo(links.withQuery(location.hash, { cursor, open: null }));
    scrollTo(0, 0);
  }
  function showNext() {
    if (next === null) return;
    pages.current = [...pages.current.slice(0, at + 1), next];
    show(next);
  }
  let before = isForward ? "Earlier" : "Newer";
  if (at === 1) before = isForward ? "Oldest" : "Newest";
  return html`
    <${Button} disabled=${at === 0} onClick=${() => show(pages.current[at - 1])}>← ${before}<//>
    <${Button} disabled=${next === null} onClick=${showNext}>
      ${isForward ? "Later" : "Older"} →
    <//>
  `;
}
