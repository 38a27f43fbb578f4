// @ts-check
// A page of records.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import { Button, Empty, ErrorLine, Note, Panel, Waiting } from "../../parts/index.js";
import { title } from "./query.js";
import { Records } from "../record/rows.js";

const PAGE = 50;

/**
 * @param {{ topic: string, q: Q, written: Answer.WrittenRecord | null, [rest: string]: any }} props
 */
export function List({ topic, q, written, ...rest }) {
  const [cursors, setCursors] = useState(/** @type {string[]} */ ([]));
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
      if (data?.cursor) setCursors([...cursors, data.cursor]);
      scrollTo(0, 0);
    }}>${older} →<//>
    <${Button} label="Reload" title="Reload" onClick=${again}>↻<//>
  `;
  return html`
    <${ErrorLine} error=${error} />
    ${loading && html`<${Waiting} what="Reading records" />`}
    ${
      data &&
      html`<${Panel} title=${title(q, data.records.length, held)} inside=${false}
          actions=${actions}>
        ${
          data.partial &&
          html`<div class="inside">
            <${Note}>The records are large, so this page is short. “${older}” shows more.<//>
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
