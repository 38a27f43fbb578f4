// One partition: its log as a strip, what becomes of its segments, and one of them opened.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import {
  ago,
  Badge,
  bytes,
  count,
  duration,
  Empty,
  ErrorLine,
  Note,
  Page,
  Panel,
  plural,
  Table,
  Tabs,
  Tile,
  Tiles,
  time,
  Waiting,
} from "../../parts/index.js";
import { Strip } from "./strip.js";
import { Segment } from "./segment.js";
import { LookUp } from "./lookup.js";
import { address, fateAtLength, fateOf, left, turnTo } from "./words.js";

const LIVE_MS = 1500;
const NEWS_KEPT = 6;

export function Partition({ topic, partition, q }) {
  const { data: log, error } = useGet(
    path("/api/segments/{}/{}", topic, partition, { dir: q.dir }),
    { every: LIVE_MS },
  );
  const news = useNews(log);
  const crumbs = [["Segments on disk", "#/segments"]];
  const title = `${topic}-${partition}`;
  if (log === null) {
    return html`<${Page} title=${title} crumbs=${crumbs}>
      <${ErrorLine} error=${error} />
      ${!error && html`<${Waiting} what="Reading the folder" />`}
    <//>`;
  }
  const turn = (changes) => turnTo(address(topic, partition, q, changes));
  const chosen = q.segment === undefined ? null : Number(q.segment);
  const open = (base) =>
    turn({ segment: base, at: null, record: null, tab: q.segment === String(base) ? q.tab : null });
  return html`<${Page} title=${title} crumbs=${crumbs}
      about=${html`<span class="mono seg-path">${log.folder}</span> on node ${log.node}`}
      actions=${
        !log.isMetadata &&
        html`<a class="button" href=${`#/topics/${encodeURIComponent(topic)}`}>The topic</a>`
      }>
    <${ErrorLine} error=${error} />
    ${
      log.directories.length > 1 &&
      html`<${Tabs} label="Copies on this machine" current=${log.dir}
          items=${log.directories.map((one) => [
            one.key,
            `Node ${one.node}`,
            address(topic, partition, {}, { dir: one.key }),
          ])} />`
    }
    <${Figures} log=${log} />
    ${
      log.segments.length === 0
        ? html`<div class="panel">
            <${Empty} title="No segment"><span>The folder holds no .log file just now.</span><//>
          </div>`
        : html`<${Strip} log=${log} selected=${chosen} onSelect=${open} />`
    }
    <div aria-live="polite" class="seg-news">
      ${news.map(
        (one) =>
          html`<div key=${one.id}>
            <${Badge} kind=${one.kind}>${one.text}<//>
            <span class="quiet"> ${time(one.at, { day: false, millis: false })}</span>
          </div>`,
      )}
    </div>
    ${
      chosen !== null &&
      html`<${Segment} key=${chosen} log=${log} base=${chosen} q=${q} turn=${turn} />`
    }
    <${LookUp} log=${log} q=${q} turn=${turn} />
    <${Fates} log=${log} chosen=${chosen} open=${open} />
    ${log.compaction && html`<${Compaction} log=${log} />`}
    <${Beside} log=${log} />
  <//>`;
}

/** What changed between two looks at the folder: the last of it. */
function useNews(log) {
  const before = useRef(null);
  const [news, setNews] = useState([]);
  useEffect(() => {
    if (log === null) return;
    const earlier = before.current;
    before.current = log;
    if (earlier === null) return;
    const known = new Map(earlier.segments.map((one) => [one.base, one]));
    const now = new Map(log.segments.map((one) => [one.base, one]));
    const found = [];
    for (const one of log.segments) {
      const was = known.get(one.base);
      if (!was) found.push(["good", `rolled: segment ${count(one.base)} is the active one`]);
      else if (one.fileSize < was.fileSize)
        found.push([
          "violet",
          `segment ${count(one.base)} was compacted: ${bytes(was.fileSize)} to ${bytes(one.fileSize)}`,
        ]);
    }
    for (const one of earlier.segments) {
      if (!now.has(one.base))
        found.push([
          "bad",
          `segment ${count(one.base)} is gone: ${one.end <= log.marks.logStart ? "deleted" : "merged into the one before it"}`,
        ]);
    }
    if (found.length) {
      const at = Date.now();
      setNews((old) =>
        [
          ...found
            .map(([kind, text], number) => ({ kind, text, at, id: `${at}-${number}` }))
            .reverse(),
          ...old,
        ].slice(0, NEWS_KEPT),
      );
    }
  }, [log]);
  return news;
}

function Figures({ log }) {
  const { marks, segments } = log;
  const first = segments.find((one) => one.firstTime >= 0);
  const largest = Math.max(-1, ...segments.map((one) => one.largestTime));
  const next = segments
    .map((one) => [one, fateOf(one.fate, log.now, log)])
    .find(([, fate]) => fate.at !== undefined);
  return html`<${Tiles}>
    <${Tile} label="Size" value=${bytes(log.size)} below=${plural(segments.length, "segment")} />
    <${Tile} label="Offsets" value=${count(marks.logEnd - marks.logStart)}
        below=${`${count(marks.logStart)} to ${count(Math.max(marks.logEnd - 1, marks.logStart))}${marks.logEndIsKnown ? "" : ", still counting"}`} />
    <${Tile} label="Span of time"
        value=${first && largest >= 0 ? duration(Math.max(0, largest - first.firstTime)) : "–"}
        below=${largest >= 0 ? `newest ${ago(largest)}` : "no timestamps"} />
    ${
      log.compaction
        ? html`<${Tile} label="Dirty" value=${Math.round(log.compaction.ratio * 100)} unit="%"
              below=${`cleaned above ${Math.round(log.compaction.ratioMin * 100)} %`} />`
        : html`<${Tile} label="Next to go" value=${next ? next[1].text : "none"}
              below=${
                next ? `segment ${count(next[0].base)}, ${bytes(next[0].size)}` : "by time"
              } />`
    }
  <//>`;
}

function Fates({ log, chosen, open }) {
  const columns = [
    {
      name: "Base offset",
      number: true,
      value: (one) => one.base,
      show: (one) =>
        html`<button type="button" class="plain seg-base" aria-pressed=${chosen === one.base}
            onClick=${() => open(one.base)}>${count(one.base)}</button>`,
    },
    {
      name: "Offsets",
      number: true,
      value: (one) => one.end - one.base,
      show: (one) => count(one.end - one.base),
    },
    { name: "Size", number: true, value: (one) => one.size, show: (one) => bytes(one.size) },
    {
      name: "From",
      value: (one) => one.firstTime,
      show: (one) => html`<span class="nowrap">${time(one.firstTime, { millis: false })}</span>`,
    },
    {
      name: "Span",
      number: true,
      value: (one) => one.largestTime - one.firstTime,
      show: (one) =>
        one.firstTime >= 0 && one.largestTime >= 0
          ? duration(Math.max(0, one.largestTime - one.firstTime))
          : "–",
    },
    {
      name: "Index",
      number: true,
      value: (one) => one.density?.perMiB ?? 0,
      show: (one) => html`<${Density} segment=${one} />`,
    },
    ...(log.compaction
      ? [
          {
            name: "Left",
            number: true,
            value: (one) => left(one) ?? -1,
            show: (one) => (left(one) === null ? "…" : share(left(one))),
          },
        ]
      : []),
    {
      name: "What becomes of it",
      value: (one) => one.fate?.at ?? Infinity,
      show: (one) => html`<${Fate} segment=${one} log=${log} />`,
    },
  ];
  return html`<${Panel} title="Segments, and what becomes of them" inside=${false}>
    <div class="inside seg-rules"><${Rules} log=${log} /></div>
    <${Table} label="Segments" columns=${columns} rows=${log.segments} id=${(one) => one.base}
        selected=${chosen} />
    ${
      log.left_out > 0 &&
      html`<p class="seg-more quiet">
        The newest ${count(log.segments.length)}; ${count(log.left_out)} older ones are left out.
      </p>`
    }
  <//>`;
}

function share(part) {
  return part > 0 && part < 0.01 ? "under 1 %" : `${Math.round(part * 100)} %`;
}

function Density({ segment }) {
  if (segment.offsets === null)
    return html`<span class="quiet"
        title="The index of an active segment may still be in the broker's memory.">in memory</span>`;
  if (segment.density === null) return html`<span class="quiet">none yet</span>`;
  return html`<span
      title=${`${count(segment.offsets.entries)} entries of 8 bytes, one each ${bytes(segment.density.bytesBetween)}`}>
    1 per ${bytes(segment.density.bytesBetween)}
  </span>`;
}

function Fate({ segment, log }) {
  const fate = fateOf(segment.fate, log.now, log);
  const title = fateAtLength(segment.fate, log.now, log);
  return html`<span class="row nowrap seg-fate" title=${title}>
    ${segment.active && html`<${Badge} kind="info">active<//>`}
    ${
      fate.kind
        ? html`<${Badge} kind=${fate.kind}>${fate.text}<//>`
        : html`<span>${fate.text}</span>`
    }
  </span>`;
}

function Rules({ log }) {
  const { rules } = log;
  if (rules.why !== null) return html`<p class="quiet">${rules.why}</p>`;
  const config = (key, show) => {
    const found = rules.configs[key];
    if (!found) return null;
    const value =
      show && found[0] !== "-1" && !found[0].startsWith("92233720368")
        ? show(Number(found[0]))
        : found[0] === "-1"
          ? "no limit"
          : found[0];
    return html`<span class="seg-config">
      <code>${key}</code> <b>${value}</b> <span class="quiet">${found[1]}</span>
    </span>`;
  };
  return html`
    <p class="seg-configs">
      ${config("cleanup.policy")}
      ${rules.delete && [config("retention.ms", duration), config("retention.bytes", bytes)]}
      ${config("segment.bytes", bytes)} ${config("segment.ms", duration)} ${config(
        "index.interval.bytes",
        bytes,
      )}
    </p>
    <p class="quiet">
      ${
        rules.delete
          ? `Whole segments go, the oldest first, the active one too once all its records are old enough. The broker looks ${rules.checkInterval === null ? "now and then" : `every ${duration(rules.checkInterval)}`}, and files leave the disk ${duration(rules.deleteDelay)} after that.`
          : "This log is only compacted: the last record of each key stays, and segments are written anew without the others."
      }
    </p>
  `;
}

function Compaction({ log }) {
  const found = log.compaction;
  const whole = Math.max(1, found.cleanBytes + found.dirtyBytes + found.laterBytes);
  const share = (part) => `${(100 * part) / whole}%`;
  const gone = found.offsets - found.records;
  const parts = [
    ["clean", found.cleanBytes, "Compacted before: each key once."],
    [
      "dirty",
      found.dirtyBytes,
      "Written since: the next cleaning reads it for the newest record of each key.",
    ],
    [
      "later",
      found.laterBytes,
      "The active segment, and what is too young or not replicated: not touched.",
    ],
  ];
  return html`<${Panel} title="Compaction" actions=${
    found.isDue
      ? html`<${Badge} kind="warn">due: the cleaner takes it next<//>`
      : html`<${Badge} kind="good">not due<//>`
  }>
    <div class="seg-clean" role="img"
        aria-label=${parts.map(([name, size]) => `${name} ${bytes(size)}`).join(", ")}>
      ${parts.map(
        ([name, size, note]) =>
          size > 0 &&
          html`<div class=${name} style=${{ width: share(size) }} title=${note}>
            <span>${name}</span>
          </div>`,
      )}
    </div>
    <div class="seg-two">
      <dl class="facts">
        <dt>Dirty ratio</dt>
        <dd>
          <b>${(found.ratio * 100).toFixed(1)} %</b> of clean and dirty bytes; cleaned
          above ${Math.round(found.ratioMin * 100)} %
          ${
            found.isOverdue
              ? ", or as now, when a record waits longer than max.compaction.lag.ms"
              : ""
          }
        </dd>
        <dt>Clean</dt>
        <dd>
          ${bytes(found.cleanBytes)}
          , ${found.wasCleaned ? `up to offset ${count(found.firstDirty)}` : "never cleaned yet"}
        </dd>
        <dt>Dirty</dt>
        <dd>${bytes(found.dirtyBytes)}</dd>
        <dt>Not touched yet</dt>
        <dd>${bytes(found.laterBytes)}, from offset ${count(found.firstUncleanable)} on</dd>
      </dl>
      <dl class="facts">
        <dt>Records left</dt>
        <dd>
          <b>${count(found.records)}</b> of ${count(found.offsets)} offsets
          ${found.isWhole ? "" : ", still counting"}
          ${
            gone > 0
              ? `: ${Math.round((100 * gone) / found.offsets)} % are gone, and their offsets stay unused`
              : ""
          }
        </dd>
        <dt>Tombstones</dt>
        <dd>
          ${
            found.tombstones === null
              ? "not counted: the log is too large"
              : count(found.tombstones)
          }
        </dd>
        <dt>Go</dt>
        <dd>
          ${
            found.tombstones === 0 && found.horizons !== null
              ? `none is left; ${plural(found.batchesWithHorizon, "batch", "batches")} still have the delete horizon that was set for theirs`
              : found.horizons === null
                ? "with the first cleaning that sees them they get a time to stay: delete.retention.ms"
                : `${plural(found.batchesWithHorizon, "batch", "batches")} have a delete horizon, from ${time(found.horizons[0], { millis: false })} to ${time(found.horizons[1], { millis: false })}: the first cleaning after it drops their tombstones`
          }
        </dd>
        <dt>delete.retention.ms</dt>
        <dd>${duration(found.deleteRetention)}</dd>
      </dl>
    </div>
  <//>`;
}

function Beside({ log }) {
  return html`<div class="grid">
    <${Panel} title="Leader epochs">
      ${
        log.epochs === null
          ? html`<${Note} kind="warn">leader-epoch-checkpoint is damaged.<//>`
          : log.epochs.length === 0
            ? html`<p class="quiet">There is no leader-epoch-checkpoint yet.</p>`
            : html`<ol class="seg-epochs">
                ${log.epochs.map(
                  (one, at) =>
                    html`<li key=${one.epoch}>
                      <b>epoch ${one.epoch}</b>
                      <span>
                        from offset ${count(one.start)}
                        ${log.epochs[at + 1] ? ` to ${count(log.epochs[at + 1].start - 1)}` : " on"}
                      </span>
                    </li>`,
                )}
              </ol>`
      }
      <p class="quiet">
        Each leader writes under an epoch of its own. After a failover a follower asks up to where
        its epoch reached, and cuts what is beyond.
      </p>
    <//>
    <${Snapshots} log=${log} />
    <${Panel} title="Other files">
      ${
        log.metadataSnapshots.length > 0 &&
        html`
          <h3>Snapshots of the metadata</h3>
          <ul class="seg-list">
            ${log.metadataSnapshots.map(
              ([name, size]) => html`<li key=${name}><code>${name}</code> ${bytes(size)}</li>`,
            )}
          </ul>
        `
      }
      ${
        log.leaving.length > 0 &&
        html`
          <h3>On their way out, or being written anew</h3>
          <ul class="seg-list">
            ${log.leaving.map(
              ([name, size]) => html`<li key=${name}><code>${name}</code> ${bytes(size)}</li>`,
            )}
          </ul>
        `
      }
      <dl class="facts">
        <dt>partition.metadata</dt>
        <dd class="mono">${log.topicId ?? "none"}</dd>
        <dt>Leaving</dt>
        <dd>${log.leaving.length ? plural(log.leaving.length, "file") : "nothing just now"}</dd>
      </dl>
      <p class="quiet">The topic's id tells this topic from an earlier one of the same name.</p>
    <//>
  </div>`;
}

function Snapshots({ log }) {
  const [at, setAt] = useState(null);
  const asked =
    at !== null && log.canRead
      ? path("/api/segments/{}/{}/snapshot", log.topic, log.partition, { dir: log.dir, offset: at })
      : null;
  const { data, error } = useGet(asked);
  return html`<${Panel} title="Producer snapshots">
    ${
      log.snapshots.length === 0
        ? html`<p class="quiet">None yet: one is written when a segment rolls.</p>`
        : html`<div class="row seg-chips">
            ${log.snapshots.map(
              ([offset, size]) =>
                html`<button key=${offset} type="button" class="plain" disabled=${!log.canRead}
                    aria-pressed=${at === offset} title=${bytes(size)}
                    onClick=${() => setAt(at === offset ? null : offset)}>
                  at ${count(offset)} · ${plural(
                    Math.max(0, Math.round((size - 10) / 46)),
                    "producer",
                  )}
                </button>`,
            )}
          </div>`
    }
    <${ErrorLine} error=${at === null ? null : error} />
    ${
      at !== null &&
      data &&
      (data.damage
        ? html`<${Note} kind="warn">${data.damage}<//>`
        : html`<${Table} label="Producers" rows=${data.producers} id=${(one) => one.producerId}
              columns=${[
                { name: "Producer", number: true, value: (one) => one.producerId },
                { name: "Epoch", number: true, value: (one) => one.producerEpoch },
                { name: "Last sequence", number: true, value: (one) => one.lastSequence },
                { name: "Last offset", number: true, value: (one) => one.lastOffset },
                {
                  name: "Transaction since",
                  number: true,
                  value: (one) => one.currentTxnFirstOffset,
                  show: (one) => one.currentTxnFirstOffset ?? "–",
                },
              ]} empty=${html`<p class="quiet">No producer with an id had written by then.</p>`} />`)
    }
    <p class="quiet">
      What a broker knows of idempotent producers at that offset, so that after a restart it still
      tells a retry from a new record.
    </p>
  <//>`;
}
