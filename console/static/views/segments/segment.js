// One segment opened: its batches, a batch's records, a record's bytes; its indexes and what it counts.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import {
  Badge,
  bytes,
  count,
  duration,
  Empty,
  ErrorLine,
  JsonTree,
  Note,
  Panel,
  plural,
  Table,
  Text,
  time,
  Waiting,
} from "../../parts/index.js";
import { HexView } from "./hex.js";
import { Cells } from "./strip.js";

const TABS = [
  ["batches", "Batches"],
  ["index", "Indexes"],
  ["inside", "What is in it"],
];
const BATCHES = 50;
const RECORDS = 25;

export function Segment({ log, base, q, turn }) {
  const bar = log.segments.find((one) => one.base === base);
  const tab = TABS.some(([id]) => id === q.tab) ? q.tab : "batches";
  const place = useRef(null);
  useEffect(() => place.current?.scrollIntoView({ block: "nearest", behavior: "smooth" }), []);
  const root = path("/api/segments/{}/{}/{}", log.topic, log.partition, base);
  const name = `${String(base).padStart(20, "0")}.log`;
  return html`<section class="panel seg-open" ref=${place} aria-label=${`Segment ${base}`}>
    <header>
      <div>
        <h2>Segment <span class="mono">${name}</span></h2>
        ${
          bar &&
          html`<p class="quiet">
            ${bytes(bar.size)},
            offsets ${count(bar.base)} to ${count(Math.max(bar.end - 1, bar.base))}
            ${bar.largestTime >= 0 ? `, newest record ${time(bar.largestTime)}` : ""}
          </p>`
        }
      </div>
      <button type="button" class="plain"
          onClick=${() => turn({ segment: null, at: null, record: null, tab: null })}
          aria-label="Close the segment">Close ✕</button>
    </header>
    ${
      !bar
        ? html`<div class="inside">
            <${Note} kind="warn">
              This segment is not in the folder any more: retention or compaction took it.
            <//>
          </div>`
        : html`
            <nav class="tabs seg-tabs" aria-label="Parts of the segment">
              ${TABS.map(
                ([id, title]) =>
                  html`<button type="button" aria-current=${id === tab ? "page" : undefined}
                      onClick=${() => turn({ tab: id === "batches" ? null : id })}>${title}</button>`,
              )}
            </nav>
            <div class="inside stack">
              ${
                tab === "batches" &&
                (log.canRead
                  ? html`<${Batches} log=${log} root=${root} q=${q} turn=${turn} bar=${bar} />`
                  : html`<${Note}>
                      Batches, records and bytes take Read on ${log.topic}, which this console's
                      login has not.
                    <//>`)
              }
              ${
                tab === "index" &&
                html`<${Indexes} log=${log} root=${root} bar=${bar} turn=${turn} />`
              }
              ${tab === "inside" && html`<${Inside} log=${log} root=${root} bar=${bar} />`}
            </div>
          `
    }
  </section>`;
}

// --- batches -------------------------------------------------------------------------------------

function Batches({ log, root, q, turn, bar }) {
  const at = q.at === undefined ? null : Number(q.at);
  const [from, setFrom] = useState(at ?? 0);
  const { data, error, loading } = useGet(
    path(`${root}/batches`, { dir: log.dir, at: from, limit: BATCHES }),
    { every: bar.active ? 3000 : 0 },
  );
  const [last, setLast] = useState(null);
  if (data !== null && data !== last) setLast(data);
  const page = data ?? last;
  useEffect(() => {
    // Somebody was led here, by a look-up for example.
    if (
      at !== null &&
      page !== null &&
      !page.batches.some((one) => one.position <= at && at < one.position + one.size)
    )
      setFrom(at);
  }, [at]);
  if (page === null)
    return html`
      <${ErrorLine} error=${error} />
      ${loading && html`<${Waiting} what="Reading headers" />`}
    `;
  const columns = [
    {
      name: "Position",
      number: true,
      value: (one) => one.position,
      show: (one) =>
        html`<button type="button" class="plain seg-base" aria-pressed=${at === one.position}
            onClick=${() => turn({ at: one.position, record: null })}>
          ${count(one.position)}
        </button>`,
    },
    { name: "Offsets", number: true, value: (one) => one.baseOffset, show: (one) => offsets(one) },
    {
      name: "Records",
      number: true,
      value: (one) => one.count,
      show: (one) => html`
        ${count(one.count)}
        ${
          one.count < one.lastOffset - one.baseOffset + 1 &&
          html`<span class="quiet"> of ${count(one.lastOffset - one.baseOffset + 1)}</span>`
        }
      `,
    },
    { name: "Size", number: true, value: (one) => one.size, show: (one) => bytes(one.size) },
    {
      name: "Codec",
      value: (one) => one.compresscodec,
      show: (one) => html`<span class="seg-codec ${one.compresscodec}">${one.compresscodec}</span>`,
    },
    {
      name: "Newest",
      value: (one) => one.maxTimestamp,
      show: (one) =>
        html`<span class="nowrap" title=${one.timestampType}>${time(one.maxTimestamp)}</span>`,
    },
    { name: "Epoch", number: true, value: (one) => one.partitionLeaderEpoch },
    { name: "Producer", value: (one) => one.producerId, show: (one) => producer(one) },
    {
      name: "",
      label: "What it is",
      show: (one) => html`<span class="row nowrap seg-signs">${signs(one)}</span>`,
    },
  ];
  return html`
    <div class="spread">
      <div class="row">
        <button type="button" disabled=${page.previous === null && page.at === 0}
            onClick=${() => setFrom(0)}>First</button>
        <button type="button" disabled=${page.previous === null}
            onClick=${() => setFrom(page.previous)}>Before</button>
        <button type="button" disabled=${page.next === null} onClick=${() => setFrom(page.next)}>
          Next
        </button>
        <button type="button" disabled=${page.next === null} onClick=${() => setFrom(-1)}>
          Last
        </button>
      </div>
      <span class="quiet">
        ${
          page.batches.length
            ? `bytes ${count(page.batches[0].position)} to ${count(page.batches.at(-1).position + page.batches.at(-1).size)} of ${count(page.size)}`
            : "no batch here"
        }
      </span>
    </div>
    <${ErrorLine} error=${error} />
    <${Film} page=${page} at=${at} turn=${turn} />
    ${page.damage && html`<${Note} kind="warn">Damage at ${page.damage}<//>`}
    <${Torn} bar=${bar} end=${
      page.next === null && !page.damage && page.batches.length
        ? page.batches.at(-1).position + page.batches.at(-1).size
        : null
    } />
    <div class="seg-sunk">
      <${Table} label="Batches" columns=${columns} rows=${page.batches} id=${(one) => one.position}
          selected=${at} empty=${html`<${Empty} title="No batch">
            <span>
              ${
                bar.active
                  ? "Nothing was written to this segment yet."
                  : "The segment ends before this place."
              }
            </span>
          <//>`} />
    </div>
    ${
      at !== null &&
      html`<${Batch} key=${at} log=${log} root=${root} at=${at} q=${q} turn=${turn} />`
    }
    ${
      at === null &&
      page.batches.length > 0 &&
      html`<p class="quiet">Choose a batch to see its records and its bytes.</p>`
    }
  `;
}

/** The page's batches side by side, as wide as they are long. */
function Film({ page, at, turn }) {
  if (page.batches.length === 0) return null;
  return html`<div class="seg-film" aria-hidden="true">
    ${page.batches.map(
      (one) =>
        html`<i key=${one.position} tabindex="-1"
            class="${one.isControl ? "control" : one.isTransactional ? "txn" : one.compresscodec === "none" ? "plain" : "packed"} ${one.isvalid === false ? "wrong" : ""} ${at === one.position ? "chosen" : ""}"
            style=${{ flexGrow: one.size }}
            title=${`offsets ${one.baseOffset} to ${one.lastOffset}, ${bytes(one.size)}`}
            onClick=${() => turn({ at: one.position, record: null })}></i>`,
    )}
  </div>`;
}

function offsets(one) {
  return one.baseOffset === one.lastOffset
    ? count(one.baseOffset)
    : html`${count(one.baseOffset)}<span class="quiet"> to </span>${count(one.lastOffset)}`;
}

function producer(one) {
  if (one.producerId < 0) return html`<span class="quiet">–</span>`;
  return html`<span class="nowrap">
    ${count(one.producerId)}
    <span class="quiet">·${one.producerEpoch}</span>
    ${one.baseSequence >= 0 && html`<span class="quiet"> seq ${count(one.baseSequence)}</span>`}
  </span>`;
}

function signs(one) {
  return [
    one.isControl && html`<${Badge} kind="info" plain>control<//>`,
    one.isTransactional && !one.isControl && html`<${Badge} kind="violet" plain>transaction<//>`,
    one.deleteHorizonMs !== null &&
      html`<${Badge} plain title=${`tombstones stay until ${time(one.deleteHorizonMs)}`}>horizon<//>`,
    one.count === 0 &&
      html`<${Badge} plain
          title="Compaction took all records; the batch keeps its offsets and its producer's sequence.">
        emptied
      <//>`,
    one.isvalid === false && html`<${Badge} kind="bad">CRC wrong<//>`,
    one.isvalid === true &&
      html`<span class="seg-ok" title="The CRC-32C is right">
        ✓<span class="hidden-text">CRC right</span>
      </span>`,
    one.isvalid === null &&
      html`<span class="quiet" title="Too large to be checked in a list: open it">CRC ?</span>`,
  ];
}

// --- a batch -------------------------------------------------------------------------------------

function Batch({ log, root, at, q, turn }) {
  const [first, setFirst] = useState(0);
  const { data, error } = useGet(
    path(`${root}/batch`, { dir: log.dir, at, first, limit: RECORDS }),
  );
  const [last, setLast] = useState(null);
  if (data !== null && data !== last) setLast(data);
  const found = data ?? last;
  const record = q.record === undefined ? null : Number(q.record);
  const place = useRef(null);
  useEffect(
    () => place.current?.scrollIntoView({ block: "nearest", behavior: "smooth" }),
    [found === null],
  );
  if (found === null)
    return html`
      <${ErrorLine} error=${error} />
      ${!error && html`<${Waiting} what="Reading the batch" />`}
    `;
  const { batch } = found;
  const ratio =
    found.unpacked > 0 && found.codec !== "none"
      ? (found.unpacked / Math.max(1, batch.size - 61)).toFixed(1)
      : null;
  return html`<div class="seg-batch stack" ref=${place}>
    <div class="spread">
      <div>
        <h2>Batch at byte ${count(batch.position)}</h2>
        <p class="quiet">
          offsets ${offsets(batch)}, ${bytes(batch.size)}
          ${ratio ? `, ${found.codec} packs ${bytes(found.unpacked)} ${ratio} times` : ""} · ${batch.timestampType}
        </p>
      </div>
      <span class="row">${signs(batch)}</span>
    </div>
    <${ErrorLine} error=${error} />
    ${
      batch.isvalid === false &&
      html`<${Note} kind="warn">
        The CRC-32C does not fit the bytes: the batch is damaged. A broker would not serve it, and a
        consumer would refuse it.
      <//>`
    }
    <${Bytes} title="The header: 61 bytes" log=${log} root=${root} at=${at} record=${-1} />
    ${
      found.codec !== "none" &&
      html`<p class="seg-packed">
        <b>${bytes(batch.size - 61)}</b> of ${found.codec} follow. Unpacked, they are these records:
      </p>`
    }
    ${found.damage && html`<${Note} kind="warn">Records: ${found.damage}<//>`}
    <${Records} found=${found} record=${record}
        choose=${(number) => turn({ record: number === record ? null : number })} />
    ${
      found.count > RECORDS &&
      html`<div class="row">
        <button type="button" disabled=${first === 0}
            onClick=${() => setFirst(Math.max(0, first - RECORDS))}>Before</button>
        <button type="button" disabled=${first + RECORDS >= found.count}
            onClick=${() => setFirst(first + RECORDS)}>Next</button>
        <span class="quiet">
          records ${count(first)} to ${count(Math.min(first + RECORDS, found.count) - 1)} of ${count(
            found.count,
          )}
        </span>
      </div>`
    }
    ${
      record !== null &&
      html`<${Bytes} key=${record} title="Record ${count(record)}" log=${log} root=${root} at=${at}
          record=${record} />`
    }
  </div>`;
}

function Records({ found, record, choose }) {
  const columns = [
    {
      name: "Offset",
      number: true,
      value: (one) => one.offset,
      show: (one) =>
        html`<button type="button" class="plain seg-base" aria-pressed=${record === one.number}
            title="See its bytes" onClick=${() => choose(one.number)}>${count(one.offset)}</button>`,
    },
    {
      name: "Timestamp",
      value: (one) => one.timestamp,
      show: (one) => html`<span class="nowrap">${time(one.timestamp)}</span>`,
    },
    {
      name: "Key",
      wide: true,
      value: (one) => one.key?.text ?? "",
      show: (one) => html`<${Meant} value=${one.key} />`,
    },
    {
      name: "Value",
      wide: true,
      value: (one) => one.value?.size ?? -1,
      show: (one) =>
        one.control
          ? html`<${Control} control=${one.control} />`
          : html`<${Meant} value=${one.value} isValue keyed=${one.key !== null} />`,
    },
    {
      name: "Headers",
      number: true,
      value: (one) => one.headersCount,
      show: (one) =>
        one.headersCount
          ? html`<span title=${one.headers
              .map(
                ([key, value]) =>
                  `${key?.text ?? "?"}: ${value?.text ?? (value === null ? "null" : "bytes")}`,
              )
              .join("\n")}>${count(one.headersCount)}</span>`
          : html`<span class="quiet">–</span>`,
    },
    { name: "Size", number: true, value: (one) => one.size, show: (one) => bytes(one.size) },
  ];
  const chosen = found.records.find((one) => one.number === record);
  return html`
    <div class="seg-sunk">
      <${Table} label="Records of the batch" columns=${columns} rows=${found.records}
          id=${(one) => one.number} selected=${record} empty=${html`<${Empty} title="No record">
            <span>
              ${
                found.damage
                  ? "They cannot be read."
                  : "Compaction took all of them; the batch still tells the last offset, and its producer's last sequence."
              }
            </span>
          <//>`} />
    </div>
    ${
      chosen &&
      !chosen.control &&
      html`<div class="seg-two seg-record">
        <div>
          <h3>Key</h3>
          <${Whole} value=${chosen.key} />
          ${
            chosen.headersCount > 0 &&
            html`
              <h3>Headers</h3>
              <dl class="facts">
                ${chosen.headers.map(
                  ([key, value], at) => html`
                    <dt key=${at} class="mono"><${Text} value=${key?.text ?? "?"} /></dt>
                    <dd><${Meant} value=${value} /></dd>
                  `,
                )}
              </dl>
            `
          }
        </div>
        <div><h3>Value</h3><${Whole} value=${chosen.value} /></div>
      </div>`
    }
  `;
}

/** A key or value at length: as a tree where it is JSON. */
function Whole({ value }) {
  if (value === null) return html`<span class="seg-null">null</span>`;
  if (value.json !== undefined) return html`<${JsonTree} value=${value.json} open=${4} />`;
  const text = value.text ?? value.words;
  if (text === undefined)
    return html`<span class="quiet">
      ${bytes(value.size)} that are no text: see the bytes below
    </span>`;
  const tree = value.cut ? undefined : parsed(text);
  return html`
    ${
      tree !== undefined
        ? html`<${JsonTree} value=${tree} open=${3} />`
        : html`<pre><${Text} value=${text} /></pre>`
    }
    ${value.cut && html`<p class="quiet">The first 4 KiB of ${bytes(value.size)}.</p>`}
  `;
}

function parsed(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function Control({ control }) {
  if (control.endTxnMarker)
    return html`<span class="row nowrap">
      <${Badge} kind=${control.endTxnMarker === "COMMIT" ? "good" : "bad"}>
        ${control.endTxnMarker}
      <//>
      <span class="quiet">by the coordinator's epoch ${control.coordinatorEpoch}</span>
    </span>`;
  return html`<${Badge} kind="info">${control.controlType ?? control.damaged}<//>`;
}

function Meant({ value, isValue = false, keyed = false }) {
  if (value === null)
    return isValue && keyed
      ? html`<span class="seg-null" title="In a compacted topic a null value deletes the key">
          null: a tombstone
        </span>`
      : html`<span class="seg-null">null</span>`;
  if (value.json !== undefined)
    return html`<code><${Text} value=${JSON.stringify(value.json).slice(0, 300)} /></code>`;
  if (value.words !== undefined)
    return html`<code><${Text} value=${value.words.slice(0, 300)} /></code>`;
  if (value.text !== undefined)
    return value.size === 0
      ? html`<span class="quiet">empty</span>`
      : html`<code><${Text} value=${value.text.slice(0, 300)} /></code>`;
  return html`<span class="quiet">${bytes(value.size)} that are no text</span>`;
}

function Bytes({ title, log, root, at, record }) {
  const [from, setFrom] = useState(0);
  const { data, error } = useGet(path(`${root}/bytes`, { dir: log.dir, at, record, from }));
  return html`<div class="seg-bytes">
    <h3>${title}</h3>
    <${ErrorLine} error=${error} />
    ${data && html`<${HexView} data=${data} onMore=${setFrom} />`}
  </div>`;
}

/** A closed segment ends with its last batch; an active one may be in the middle of being written. */
function Torn({ bar, end }) {
  if (end === null || bar.active || end >= bar.fileSize) return null;
  return html`<${Note} kind="warn">
    The last ${bytes(bar.fileSize - end)} of the file, from byte ${count(end)} on, are no whole
    batch.
  <//>`;
}

// --- indexes and counts ---------------------------------------------------------------------------

function Indexes({ log, root, bar }) {
  return html`
    <p class="quiet seg-say">
      An index is small and sparse: about one entry for each index.interval.bytes of batches. A
      look-up finds the last entry before what it wants by bisection, and scans headers from
      there. ${
        bar.active
          ? "Of the active segment the newest entries may still be in the broker's memory."
          : ""
      }
    </p>
    <div class="seg-two">
      <${Index} log=${log} root=${root} kind="offsets" title=".index" facts=${bar.offsets}
          columns=${["Last offset of a batch", "Position of that batch"]} show=${count}
          says="offset → position, 8 bytes an entry" />
      <${Index} log=${log} root=${root} kind="times" title=".timeindex" facts=${bar.times}
          columns=${["Largest timestamp so far", "Last offset of its batch"]} show=${time}
          says="timestamp → offset, 12 bytes an entry" />
    </div>
    <${Aborted} log=${log} root=${root} bar=${bar} />
  `;
}

function Index({ log, root, kind, title, facts, columns, show, says }) {
  const [first, setFirst] = useState(0);
  const page = 100;
  const { data, error } = useGet(
    facts === null ? null : path(`${root}/index`, { dir: log.dir, kind, first, limit: page }),
  );
  return html`<section class="seg-index" aria-label=${title}>
    <div class="spread"><h3 class="mono">${title}</h3><span class="quiet">${says}</span></div>
    ${
      facts === null
        ? html`<p class="quiet">There is no such file yet.</p>`
        : html`<p class="quiet">
            ${plural(facts.entries, "entry", "entries")}, ${bytes(facts.size)}
            ${
              facts.room > facts.entries
                ? `, of which ${bytes(facts.size - facts.entries * (kind === "offsets" ? 8 : 12))} are room that is not used yet`
                : ""
            }
          </p>`
    }
    <${ErrorLine} error=${error} />
    ${
      data &&
      html`
        <${Table} label=${title} rows=${data.entries} id=${(one) => one[0]} columns=${[
          {
            name: "#",
            number: true,
            show: (one) => html`<span class="quiet">${count(one[0])}</span>`,
          },
          { name: columns[0], number: true, show: (one) => show(one[1]) },
          { name: columns[1], number: true, show: (one) => count(one[2]) },
        ]} empty=${html`<p class="quiet">No entry.</p>`} />
        ${
          data.count > page &&
          html`<div class="row">
            <button type="button" disabled=${first === 0}
                onClick=${() => setFirst(Math.max(0, first - page))}>Before</button>
            <button type="button" disabled=${first + page >= data.count}
                onClick=${() => setFirst(first + page)}>Next</button>
            <span class="quiet">
              ${count(first)} to ${count(Math.min(first + page, data.count) - 1)} of ${count(
                data.count,
              )}
            </span>
          </div>`
        }
      `
    }
  </section>`;
}

function Aborted({ log, root, bar }) {
  const { data } = useGet(
    bar.aborted > 0 && log.canRead ? path(`${root}/aborted`, { dir: log.dir }) : null,
  );
  return html`<section>
    <h3 class="mono">.txnindex</h3>
    ${
      bar.aborted === 0
        ? html`<p class="quiet">
            No transaction that was aborted ends in this segment
            ${bar.active ? ", as far as the file tells" : ""}.
          </p>`
        : html`<p class="quiet">
            ${plural(bar.aborted, "aborted transaction")}: what a consumer of committed records
            skips.
          </p>`
    }
    ${
      data?.aborted &&
      html`<${Table} label="Aborted transactions" rows=${data.aborted}
          id=${(one) => `${one.producerId}-${one.lastOffset}`} columns=${[
            {
              name: "Producer",
              number: true,
              value: (one) => one.producerId,
              show: (one) => count(one.producerId),
            },
            {
              name: "First offset",
              number: true,
              value: (one) => one.firstOffset,
              show: (one) => count(one.firstOffset),
            },
            {
              name: "Marker's offset",
              number: true,
              value: (one) => one.lastOffset,
              show: (one) => count(one.lastOffset),
            },
            {
              name: "Last stable offset then",
              number: true,
              value: (one) => one.lastStableOffset,
              show: (one) => count(one.lastStableOffset),
            },
          ]} />`
    }
  </section>`;
}

function Inside({ log, root, bar }) {
  const [done, setDone] = useState(false);
  const { data, error } = useGet(path(root, { dir: log.dir }), {
    every: done && !bar.active ? 0 : 1500,
  });
  const scan = data?.scan ?? null;
  useEffect(() => {
    if (scan?.isWhole) setDone(true);
  }, [scan]);
  if (scan === null)
    return html`
      <${ErrorLine} error=${error} />
      ${!error && html`<${Waiting} what="Reading headers" />`}
    `;
  const span = scan.nextOffset - bar.base;
  const packed = Object.entries(scan.codecs).sort((one, other) => other[1][1] - one[1][1]);
  const all = packed.reduce((sum, [, [, size]]) => sum + size, 0) || 1;
  return html`
    ${
      !scan.isWhole &&
      html`<div class="progress" role="progressbar" aria-label="Read so far"
          aria-valuenow=${Math.round((100 * scan.position) / bar.fileSize)}>
        <div style=${{ width: `${(100 * scan.position) / Math.max(1, bar.fileSize)}%` }}></div>
      </div>`
    }
    ${scan.damage && html`<${Note} kind="warn">Damage at ${scan.damage}<//>`}
    <${Torn} bar=${bar} end=${scan.isWhole && !scan.damage ? scan.position : null} />
    <div class="seg-cellbox"><${Cells} segment=${{ ...bar, scan }} /></div>
    <p class="quiet">
      Each cell is ${plural(scan.cells.width, "offset")} wide, and as strong as records are left in
      it: ${count(scan.records)} of ${count(span)}.
    </p>
    <div class="seg-two">
      <dl class="facts">
        <dt>Batches</dt>
        <dd>
          <b>${count(scan.batches)}</b>,
          of ${scan.batches ? (scan.records / scan.batches).toFixed(1) : 0} records
          and ${scan.batches ? bytes(scan.position / scan.batches) : "0 B"} on average; the largest
          has ${bytes(scan.largestBatch)}
        </dd>
        <dt>Records</dt>
        <dd>${count(scan.records)}</dd>
        <dt>Transactional</dt>
        <dd>
          ${plural(scan.transactionalBatches, "batch", "batches")}
          , ${plural(scan.controlBatches, "marker")} and other control batches
        </dd>
        <dt>Emptied</dt>
        <dd>${plural(scan.emptyBatches, "batch", "batches")} without a record</dd>
        <dt>Tombstones</dt>
        <dd>
          ${scan.tombstones === null ? "counted in compacted topics alone" : count(scan.tombstones)}
          ${
            scan.horizons
              ? `, ${plural(scan.batchesWithHorizon, "batch", "batches")} with a delete horizon`
              : ""
          }
        </dd>
        <dt>Leader epochs</dt>
        <dd>
          ${scan.epochs.map(([epoch, from]) => `${epoch} from ${count(from)}`).join(", ") || "–"}
        </dd>
        <dt>Timestamps</dt>
        <dd>
          ${time(scan.firstTime)} to ${time(scan.largestTime)}
          ${scan.firstTime >= 0 ? ` (${duration(scan.largestTime - scan.firstTime)})` : ""}
        </dd>
      </dl>
      <div>
        <h3>Codecs</h3>
        ${packed.map(
          ([name, [batches, size]]) =>
            html`<div key=${name} class="seg-codecrow">
              <span class="seg-codec ${name}">${name}</span>
              <div class="seg-share"><div style=${{ width: `${(100 * size) / all}%` }}></div></div>
              <span>${plural(batches, "batch", "batches")}, ${bytes(size)}</span>
            </div>`,
        )}
        <h3>Files</h3>
        <dl class="facts">
          ${Object.entries(bar.files).map(
            ([suffix, size]) => html`<dt class="mono">.${suffix}</dt><dd>${bytes(size)}</dd>`,
          )}
        </dl>
      </div>
    </div>
  `;
}
