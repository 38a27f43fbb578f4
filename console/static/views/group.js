// @ts-check
// The page of a group: its lag over time, its members and partitions, and changes of its offsets.

import { html, useMemo, useState } from "../vendor/preact.js";
import { goTo } from "../address.js";
import { path, post, useGet } from "../api.js";
import * as links from "../links.js";
import {
  AsOf,
  Button,
  Chart,
  Confirm,
  Empty,
  ErrorLine,
  Note,
  Page,
  Panel,
  Tile,
  Tiles,
  Waiting,
  ago,
  count,
  lagOf,
  plural,
  rate,
  time,
} from "../parts/index.js";
import { State, When } from "./groups.js";
import { Matrix } from "./group_matrix.js";
import { Reset } from "./group_reset.js";
import { Partitions } from "./group_partitions.js";
import { Share } from "./group_share.js";
import { chartNote, epochs, lagBelow, termsOf, whyNot } from "./group_words.js";

const EVERY_MS = 3000;
const CHART_MS = 10000;
const LINES = 6;

/** @param {{ params: Params, about: Partial<Answer.About> }} props */
export function Group({ params, about }) {
  const name = params.group;
  const got = useGet(path("/api/group", { group: name }), { every: EVERY_MS });
  const { data, error, again } = got;
  const lag = useGet(path("/api/group/lag", { group: name }), { every: CHART_MS });
  const [dialog, setDialog] = useState(null);
  const close = () => setDialog(null);
  return html`<${Page} title=${name} crumbs=${[["Groups", links.groups()]]}
      about=${data && html`<${When} words=${data.since} />`}
      actions=${data && about.writes && html`<${Actions} data=${data} onOpen=${setDialog} />`}>
    <${ErrorLine} error=${error} />
    <${AsOf} got=${got} />
    ${data === null && !error && html`<${Waiting} />`}
    ${
      data &&
      html`
        ${data.share?.troubles.map((text) => html`<${Note} kind="warn">${text}.<//>`)}
        <${Figures} data=${data} />
        <${Over} lag=${lag.data} data=${data} />
        ${
          data.members.length > 0 &&
          html`<${Panel} title="Members and their partitions"><${Matrix} data=${data} /><//>`
        }
        <${Partitions} data=${data} />
        ${data.share && html`<${Share} share=${data.share} group=${data.group} />`}
      `
    }
    ${dialog === "reset" && html`<${Reset} data=${data} onClose=${close} onDone=${again} />`}
    ${dialog === "delete" && html`<${Delete} data=${data} onClose=${close} />`}
  <//>`;
}

/** @param {{ data: Answer.GroupShown, onOpen: Call }} props */
function Actions({ data, onOpen }) {
  const [noReset, noDelete] = [whyNot(data, "READ"), whyNot(data, "DELETE")];
  return html`
    <${Button} disabled=${Boolean(noReset)} title=${noReset} onClick=${() => onOpen("reset")}>
      Reset offsets…
    <//>
    <${Button} kind="danger" disabled=${Boolean(noDelete)} title=${noDelete}
        onClick=${() => onOpen("delete")}>
      Delete…
    <//>
  `;
}

/** @param {{ data: Answer.GroupShown }} props */
function Figures({ data }) {
  const { unread } = termsOf(data.type);
  const oldest = Math.min(...data.partitions.map((one) => one.unread_ms ?? Infinity));
  return html`<div aria-live="polite">
    <${Tiles}>
      <${Tile} label="State" value=${html`<${State} name=${data.state} />`}
          below=${`${data.type}${data.assignor ? `, ${data.assignor}` : ""}`} />
      <${Tile} label="Lag" value=${lagOf(data)} unit="records"
          below=${lagBelow(data)} />
      <${Tile} label=${`Oldest ${unread} record`} value=${oldest === Infinity ? "–" : ago(oldest)}
          below=${
            oldest === Infinity
              ? `no ${unread} records`
              : `written ${time(oldest, { day: false, millis: false })}`
          } />
      <${Tile} label="Members" value=${data.unserved ? "–" : count(data.members.length)}
          below=${`${plural(data.partitions.length, "partition")}`} />
      <${Tile} label="Coordinator"
          value=${data.coordinator === null ? "–" : `broker ${data.coordinator}`}
          below=${epochs(data)} />
    <//>
  </div>`;
}

/** @param {{ lag: Answer.GroupLag | null, data: Answer.GroupShown }} props */
function Over({ lag, data }) {
  const chart = useMemo(() => {
    if (!lag) return null;
    const lines = [{ name: "all partitions", values: lag.total }];
    const single = lag.partitions.length === 1 ? [] : lag.partitions.slice(0, LINES - 1);
    for (const one of single)
      lines.push({ name: `${one.topic}-${one.partition}`, values: one.lag });
    return { x: lag.times_ms.map((one) => one / 1000), lines };
  }, [lag]);
  if (!lag || !chart || (data.unserved && !data.partitions.length)) return null;
  const since = data.partitions.flatMap((one) => one.since_ms || []);
  const marks = since.length ? [{ at: Math.min(...since) / 1000, name: "behind since" }] : [];
  const every = Math.round(data.watched.every_s);
  const note =
    lag.kept >= lag.kept_most
      ? `only the ${lag.kept_most} partitions with the most lag are sampled`
      : `one sample every ${every} s`;
  const notes = [chartNote(data), note].filter(Boolean).join("; ");
  return html`<${Panel} title="Lag over the last hour"
      actions=${html`<span class="quiet">${notes}</span>`}>
    ${
      chart.lines[0].values.filter((one) => one !== null).length < 2
        ? html`<${Empty} title="Waiting for a second sample">
            The console takes one sample every ${every} s.
          <//>`
        : html`<${Chart} x=${chart.x} lines=${chart.lines} show=${rate} height=${220} marks=${marks}
              label=${`Lag of ${data.group} over the last hour`} />`
    }
  <//>`;
}

/** @param {{ data: Answer.GroupShown, onClose: Call }} props */
function Delete({ data, onClose }) {
  async function remove() {
    await post(path("/api/group/delete", { group: data.group }), { execute: true });
    goTo(links.groups());
  }
  const held = data.partitions.filter((one) => one.committed !== null);
  return html`<${Confirm} title=${`Delete the group ${data.group}`} action="Delete the group" danger
      word=${data.group} onConfirm=${remove} onClose=${onClose}>
    <p>
      This deletes the group's ${termsOf(data.type).offset}s of ${plural(held.length, "partition")}.
      Consumers that use this group id later start where
      ${data.share ? "the group's " : "their "}
      <code>${data.share ? "share.auto.offset.reset" : "auto.offset.reset"}</code> says.
    </p>
  <//>`;
}
