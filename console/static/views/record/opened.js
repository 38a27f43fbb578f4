// @ts-check
// An opened record: its key, value and headers.

import { html } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import { Button, CopyMenu, ErrorLine, Text, Time, Waiting, ago, count } from "../../parts/index.js";
import { textsToCopy } from "./copying.js";
import { originOf } from "../dead_letter.js";
import { Headers } from "./headers.js";
import { Origin } from "./origin.js";
import { Part } from "./part.js";

const TOMBSTONE = "null: a tombstone, so compaction deletes the key";

/** @param {{ topic: string, record: Answer.RecordShown, uncommitted: any, onAgain: Call }} props */
export function Opened({ topic, record, uncommitted, onAgain }) {
  const isCut =
    record.key?.cut ||
    record.value?.cut ||
    record.decoded?.value?.cut ||
    record.more_headers ||
    record.headers.some(([, value]) => value?.cut);
  const place = path("/api/topics/{}/messages/{}/{}", topic, record.partition, record.offset, {
    uncommitted,
  });
  const { data, error } = useGet(isCut ? place : null);
  const whole = data ?? record;
  const origin = originOf(whole.headers);
  const file = (part) =>
    path("/api/topics/{}/messages/{}/{}/{}", topic, record.partition, record.offset, part, {
      uncommitted,
    });
  return html`<div class="whole">
    <div class="spread">
      <span class="quiet">
        ${topic}-${record.partition} ·
        offset ${count(record.offset)} · <${Time} ms=${record.timestamp} /> ·
        ${ago(record.timestamp)}
      </span>
      <span class="row">
        <${CopyMenu} items=${textsToCopy(whole, file)} />
        ${record.value && html`<a class="button" href=${file("value")} download>Save value</a>`}
        ${
          onAgain &&
          html`<${Button} disabled=${isCut && !data} onClick=${() => onAgain(whole)}>
            Send again
          <//>`
        }
      </span>
    </div>
    <${ErrorLine} error=${error} />
    ${origin && html`<${Origin} of=${origin} />`}
    ${record.match?.around !== undefined && html`<${FirstMatch} match=${record.match} />`}
    ${isCut && !data && !error && html`<${Waiting} what="Reading the whole record" />`}
    <${Part} name="Key" data=${whole.key} decoded=${whole.decoded?.key}
        about=${whole.value === null ? whole.decoded : undefined} whenNull="null"
        file=${file("key")} />
    <${Part} name="Value" data=${whole.value} decoded=${whole.decoded?.value} about=${whole.decoded}
        whenNull=${whole.key === null ? "null" : TOMBSTONE} file=${file("value")} />
    <${Headers} headers=${whole.headers} more=${whole.more_headers} file=${file("headers")} />
  </div>`;
}

/**
 * The place of the first match, with the text around it, as it may be far inside a long value.
 *
 * @param {{ match: Answer.RecordMatch }} props
 */
function FirstMatch({ match }) {
  return html`<p class="first-match">
    <span class="quiet">
      First match, at character ${count((match.at ?? 0) + 1)} of the ${match.part}:
    </span>
    <span class="mono">…<${Text} value=${match.around} />…</span>
  </p>`;
}
