// @ts-check
// The page of a partition: its log as a strip, the deletion of its segments, an opened segment.

import { html } from "../../vendor/preact.js";
import { replaceWith } from "../../address.js";
import { path, useGet } from "../../api.js";
import * as links from "../../links.js";
import {
  ago,
  Badge,
  bytes,
  count,
  duration,
  Empty,
  ErrorLine,
  Page,
  plural,
  Tabs,
  Tile,
  Tiles,
  Time,
  Waiting,
} from "../../parts/index.js";
import { Strip } from "./strip.js";
import { Segment } from "./segment.js";
import { LookUp } from "./lookup.js";
import { useOffsetInAddress } from "./offset_in_address.js";
import { CLOSED, fateOf } from "./words.js";
import { useNews } from "./news.js";
import { Fates } from "./fates.js";
import { Compaction } from "./compaction.js";
import { Beside } from "./beside.js";

const LIVE_MS = 1500;

/** @param {{ topic: string, partition: string, q: Q }} props */
export function Partition({ topic, partition, q }) {
  const { data: log, error } = useGet(
    path("/api/segments/{}/{}", topic, partition, { dir: q.dir }),
    { every: LIVE_MS },
  );
  const news = useNews(log);
  const turn = (changes) =>
    replaceWith(links.partitionSegments(topic, partition, { ...q, ...changes }));
  useOffsetInAddress(log, q, turn);
  const crumbs = [["Segments on disk", links.segments()]];
  const title = `${topic}-${partition}`;
  if (log === null) {
    return html`<${Page} title=${title} crumbs=${crumbs}>
      <${ErrorLine} error=${error} />
      ${!error && html`<${Waiting} what="Reading the folder" />`}
    <//>`;
  }
  const chosen = q.segment === undefined ? null : Number(q.segment);
  const open = (base) =>
    turn({ ...CLOSED, segment: base, tab: q.segment === String(base) ? q.tab : null });
  return html`<${Page} title=${title} crumbs=${crumbs}
      about=${html`<span class="mono seg-path">${log.folder}</span> on node ${log.node}`}
      actions=${
        !log.isMetadata && html`<a class="button" href=${links.topic(topic)}>Show the topic</a>`
      }>
    <${ErrorLine} error=${error} />
    ${
      log.directories.length > 1 &&
      html`<${Tabs} label="Replicas on this machine" current=${log.dir}
          items=${log.directories.map((one) => [
            one.key,
            `Node ${one.node}`,
            links.partitionSegments(topic, partition, { dir: one.key }),
          ])} />`
    }
    <${Figures} log=${log} />
    ${
      log.segments.length === 0
        ? html`<div class="panel">
            <${Empty} title="No segments"><span>The folder has no .log file now.</span><//>
          </div>`
        : html`<${Strip} log=${log} selected=${chosen} onSelect=${open} />`
    }
    <div aria-live="polite" class="seg-news">
      ${news.map(
        (one) =>
          html`<div key=${one.id}>
            <${Badge} kind=${one.kind}>${one.text}<//>
            <span class="quiet"> <${Time} ms=${one.at} day=${false} millis=${false} /></span>
          </div>`,
      )}
    </div>
    ${
      chosen !== null &&
      html`<${Segment} key=${chosen} log=${log} base=${chosen} q=${q} turn=${turn} />`
    }
    <${LookUp} log=${log} q=${q} turn=${turn} />
    <${Fates} log=${log} chosen=${chosen} open=${open} />
    ${log.compaction && html`<${Compaction} state=${log.compaction} />`}
    <${Beside} log=${log} />
  <//>`;
}

/** @param {{ log: Answer.PartitionShown }} props */
function Figures({ log }) {
  const { marks, segments } = log;
  const last = Math.max(marks.logEnd - 1, marks.logStart);
  const more = marks.logEndIsKnown ? "" : ", still counting";
  const first = segments.find((one) => one.firstTime >= 0);
  const largest = Math.max(-1, ...segments.map((one) => one.largestTime));
  const next = segments
    .map((segment) => ({ segment, fate: fateOf(segment.fate, log.now, log) }))
    .find(({ fate }) => fate.at !== undefined);
  return html`<${Tiles}>
    <${Tile} label="Size" value=${bytes(log.size)} below=${plural(segments.length, "segment")} />
    <${Tile} label="Offsets" value=${count(marks.logEnd - marks.logStart)}
        below=${`${count(marks.logStart)} to ${count(last)}${more}`} />
    <${Tile} label="Time span"
        value=${first && largest >= 0 ? duration(Math.max(0, largest - first.firstTime)) : "–"}
        below=${largest >= 0 ? `newest record ${ago(largest)}` : "no timestamps"} />
    ${
      log.compaction
        ? html`<${Tile} label="Dirty" value=${Math.round(log.compaction.ratio * 100)} unit="%"
              below=${`cleaning starts above ${Math.round(log.compaction.ratioMin * 100)} %`} />`
        : html`<${Tile} label="Next deletion" value=${next ? next.fate.text : "none"}
              below=${
                next
                  ? `segment ${count(next.segment.base)}, ${bytes(next.segment.size)}`
                  : "no deletion by time"
              } />`
    }
  <//>`;
}
