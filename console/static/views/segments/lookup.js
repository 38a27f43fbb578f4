// @ts-check
// A look-up of an offset or a time, as a broker does it: segment, index, scan, batch.

import { html, useState } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import { bytes, count, ErrorLine, Panel, plural, time } from "../../parts/index.js";
import { CLOSED, segmentOf } from "./words.js";

/** @param {{ log: Answer.PartitionShown, turn: Turn }} props */
export function LookUp({ log, turn }) {
  const [kind, setKind] = useState("offset");
  const [typed, setTyped] = useState("");
  const [wanted, setWanted] = useState(null);
  const middle = Math.floor((log.marks.logStart + log.marks.logEnd) / 2);
  function submit(event) {
    event.preventDefault();
    const text = typed.trim();
    if (kind === "offset")
      setWanted({ kind, value: text === "" ? middle : Number(text.replace(/[,_ ]/g, "")) });
    else
      setWanted({ kind, value: /^\d{11,}$/.test(text) ? Number(text) : new Date(text).getTime() });
  }
  const segment = wanted === null ? null : segmentWith(log, wanted);
  const why = wanted === null ? null : refusal(log, wanted, segment);
  const query = wanted === null ? null : { dir: log.dir, [wanted.kind]: wanted.value };
  const { data, error, again } = useGet(
    why === null && segment
      ? path("/api/segments/{}/{}/{}/lookup", log.topic, log.partition, segment.base, query)
      : null,
  );
  return html`<${Panel} title="How a broker finds an offset">
    <form class="row" onSubmit=${submit}>
      <select aria-label="Look up by" value=${kind} onChange=${(event) => {
        setKind(event.target.value);
        setTyped("");
      }}><option value="offset">offset</option><option value="time">time</option></select>
      ${
        kind === "offset"
          ? html`<input key="offset" inputmode="numeric" aria-label="Offset"
                placeholder=${count(middle)} value=${typed}
                onInput=${(event) => setTyped(event.target.value)} />`
          : html`<input key="time" type="datetime-local" step="1" aria-label="Time" value=${typed}
                onInput=${(event) => setTyped(event.target.value)} />`
      }
      <button type="submit" class="primary">Look up</button>
      ${
        wanted === null &&
        html`<span class="quiet">
          Shows the steps of a Fetch to its bytes: segment, index entry, scan, batch.
        </span>`
      }
    </form>
    ${why && html`<p class="seg-say quiet" role="status">${why}</p>`}
    <${ErrorLine} error=${error} onAgain=${again} />
    ${
      why === null &&
      segment &&
      data &&
      html`<${Steps} log=${log} segment=${segment} lookUp=${data} wanted=${wanted} turn=${turn} />`
    }
  <//>`;
}

/** Return the segment in which a broker looks, null if there is none. */
function segmentWith(log, { kind, value }) {
  if (kind === "offset") return segmentOf(log, value);
  return log.segments.find((one) => one.largestTime >= value) ?? null;
}

/** Return the reason why there is nothing to look up, null if there is none. */
function refusal(log, { kind, value }, segment) {
  if (!Number.isFinite(value) || value < 0)
    return kind === "offset" ? "Enter a whole number as the offset." : "Enter a date and a time.";
  if (kind === "time")
    return segment
      ? null
      : "No segment has a timestamp this late: a consumer would begin at the log end.";
  if (value < log.marks.logStart)
    return (
      `Offset ${count(value)} is below the log start offset ${count(log.marks.logStart)}: a ` +
      "Fetch gets OFFSET_OUT_OF_RANGE, and the consumer applies auto.offset.reset."
    );
  const end = count(log.marks.logEnd);
  if (value >= log.marks.logEnd && log.marks.logEndIsKnown)
    return (
      `Offset ${count(value)} is not written yet: the log end offset is ${end}. ` +
      `A Fetch at ${end} would wait.`
    );
  return segment ? null : "No segment begins at or before this offset.";
}

/**
 * @param {{
 *   log: Answer.PartitionShown, segment: Answer.SegmentShown, lookUp: Answer.LookUpShown,
 *   wanted: { kind: string, value: number }, turn: Turn,
 * }} props
 */
function Steps({ log, segment, lookUp, wanted, turn }) {
  const { batch } = lookUp;
  const target = wanted.kind === "offset" ? count(wanted.value) : time(wanted.value);
  const at = log.segments.findIndex((one) => one.base === segment.base);
  const more = lookUp.passedCount - lookUp.passed.length;
  const near = log.segments.slice(Math.max(0, at - 2), at + 3);
  const offset = wanted.kind === "offset" ? wanted.value : null;
  const open = () => turn({ ...CLOSED, segment: segment.base, at: batch?.position, offset });
  return html`<ol class="seg-steps">
    <li>
      <h3>The segment</h3>
      <p>
        ${
          wanted.kind === "offset"
            ? html`
                The last segment whose base offset is at most ${target}. The file name is the base
                offset, so the broker opens no file.
              `
            : html`The first segment whose largest timestamp is ${target} or later.`
        }
      </p>
      <div class="seg-stepnames">
        ${near.map(
          (one) =>
            html`<code key=${one.base} class=${one.base === segment.base ? "hit" : ""}>
              ${one.name}.log
            </code>`,
        )}
      </div>
    </li>
    ${
      lookUp.ofTime &&
      html`<li>
        <h3>The time index</h3>
        <${Probe} probe=${lookUp.ofTime} file=".timeindex" show=${time} of="timestamp"
            gives="offset" />
      </li>`
    }
    <li>
      <h3>The offset index</h3>
      <${Probe} probe=${lookUp.ofOffset} file=".index" show=${count} of="offset" gives="position" />
    </li>
    <li>
      <h3>The scan</h3>
      <p>
        ${
          lookUp.passedCount === 0
            ? html`From byte <b>${count(lookUp.start)}</b>: the first batch header matches.`
            : html`
                From byte <b>${count(lookUp.start)}</b> on, header by header. The scan
                skips ${plural(lookUp.passedCount, "batch", "batches")} of ${bytes(
                  lookUp.passedBytes,
                )} by ${lookUp.passedCount === 1 ? "its" : "their"} length.
              `
        }
      </p>
      <div class="seg-passed">
        ${lookUp.passed.map(
          (one) =>
            html`<i key=${one.position} style=${{ flexGrow: one.size }}
                title=${`offsets ${one.baseOffset} to ${one.lastOffset}, ${bytes(one.size)}`}>
              <small>${count(one.lastOffset)}</small>
            </i>`,
        )}
        ${more > 0 && html`<span class="quiet">and ${count(more)} more batches</span>`}
        ${
          batch &&
          html`<i class="hit" style=${{ flexGrow: batch.size }} title="the batch of the look-up">
            <small>${count(batch.baseOffset)} to ${count(batch.lastOffset)}</small>
          </i>`
        }
      </div>
    </li>
    <li>
      <h3>The batch</h3>
      ${
        batch === null
          ? html`<p>No batch in this segment has a timestamp this late.</p>`
          : html`
              <p>${hit(lookUp, wanted, target)}</p>
              <button type="button" onClick=${open}>
                Open the batch at byte ${count(batch.position)}
              </button>
            `
      }
    </li>
  </ol>`;
}

function hit({ batch, exact }, { kind }, target) {
  if (kind === "time")
    return html`
      The first batch whose largest timestamp, ${time(batch.maxTimestamp)}, is late enough.
      ListOffsets returns the first such record in it.
    `;
  if (!exact)
    return html`
      Offset ${target} has no record: compaction removed it, or a marker has this offset. A Fetch
      returns the next batch.
    `;
  return html`
    The batch covers offsets ${count(batch.baseOffset)} to ${count(batch.lastOffset)}. From here the
    broker sends whole batches by sendfile, without decoding them. The consumer skips records
    before ${target}.
  `;
}

function probed({ entry, entries, key, compared }, file, show, of) {
  if (entry)
    return html`
      Of ${plural(entries, "entry", "entries")}, the last whose ${of} is at most ${show(key)}. The
      binary search compares at most ${compared}.
    `;
  if (entries)
    return html`
      All ${count(entries)} entries are later, so the scan begins at the segment's first byte.
    `;
  return html`${file} has no entries on disk yet: the scan begins at the segment's first byte.`;
}

/**
 * @param {{
 *   probe: Answer.ProbeShown, file: string, show: (value: number) => string, of: string,
 *   gives: string,
 * }} props
 */
function Probe({ probe, file, show, of, gives }) {
  const { entry } = probe;
  return html`
    <p>${probed(probe, file, show, of)}</p>
    ${
      probe.around.length > 0 &&
      html`<table class="seg-probe">
        <thead>
          <tr><th scope="col">#</th><th scope="col">${of}</th><th scope="col">${gives}</th></tr>
        </thead>
        <tbody>
          ${probe.around.map(
            ([number, key, value]) =>
              html`<tr key=${number} class=${entry && number === entry[0] ? "hit" : ""}>
                <td>${count(number)}</td>
                <td>${show(key)}</td>
                <td>${count(value)}</td>
              </tr>`,
          )}
        </tbody>
      </table>`
    }
  `;
}
