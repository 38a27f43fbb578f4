// @ts-check
// The records of a topic: the newest, from a position on, the matches of a search, or live.

import { html, useEffect, useState } from "../vendor/preact.js";
import { goTo, useAddressSet } from "../address.js";
import { path, useGet } from "../api.js";
import * as links from "../links.js";
import { Button, count, ErrorLine, Note, Page, Panel, Tabs } from "../parts/index.js";
import { useDenied } from "../rights.js";
import { Produce } from "./produce.js";
import { topicTabs } from "./topic.js";
import { formOf, queryOf } from "./messages/query.js";
import { Live } from "./messages/live.js";
import { Search } from "./messages/search.js";
import { Unled } from "./messages/unled.js";
import { List } from "./messages/list.js";
import { Choices } from "./messages/choices.js";
import { WaitingNote } from "./transactions/waiting.js";

/**
 * Return the last partitions of a large topic, which are read only if the user selects them.
 *
 * @param {Answer.RecordPage | null | undefined} page
 */
function unreadPartitions(page) {
  if (!page) return [];
  const first = page.topic_partitions - page.left_out;
  return Array.from({ length: page.left_out }, (_, index) => first + index);
}

/** @param {{ params: Params, about: Partial<Answer.About> }} props */
export function Messages({ params, about }) {
  const { topic, q } = params;
  const [form, setForm] = useState(() => formOf(q));
  const { open: _open, cursor: _cursor, ...fields } = q;
  const asked = JSON.stringify(fields);
  const [open, onTurn] = useAddressSet("open");
  useEffect(() => setForm(formOf(q)), [asked]);
  const [again, setAgain] = useState(undefined);
  const [written, setWritten] = useState(null);
  const ends = useGet(path("/api/topics/{}/messages", topic, { count: 1 }));
  const noWrite = useDenied(about.writes, "topic", topic)("WRITE");
  const leftOut = unreadPartitions(ends.data);
  const partitions = [
    ...(ends.data?.partitions ?? []).map((one) => one.partition),
    ...(ends.data?.unled ?? []),
    ...leftOut,
  ];

  function go(change) {
    const next = { ...form, ...change };
    setForm(next);
    goTo(links.messages(topic, queryOf(next)));
  }

  const isSearch = Boolean(q.q || q.filter);
  let mode = isSearch ? Search : List;
  if (q.live) mode = Live;
  const common = {
    topic,
    q,
    several: partitions.length > 1 && !/^\d+$/.test(q.partition ?? ""),
    open,
    onTurn,
    label: `Records of ${topic}`,
    onAgain: about.writes ? (record) => setAgain(record) : undefined,
    written,
  };
  return html`<${Page} title=${topic} crumbs=${[["Topics", links.topics()]]} actions=${[
    about.writes &&
      html`<${Button} disabled=${Boolean(noWrite)} title=${noWrite}
          onClick=${() => setAgain(null)}>Write a record<//>`,
    html`<${Button} pressed=${Boolean(q.live)} onClick=${() => go({ live: !q.live })}>
      ${q.live ? "Stop live view" : "Watch live"}
    <//>`,
  ]}>
    <${Tabs} items=${topicTabs(topic)} current="messages" />
    <${Panel} label="Record filter">
      <${Choices} form=${form} setForm=${setForm} go=${go}
          partitions=${ends.data?.partitions ?? []} leftOut=${leftOut} />
    <//>
    <${ErrorLine} error=${ends.error} onAgain=${ends.again} />
    <${Unled} partitions=${ends.data?.unled ?? []} onAgain=${ends.again} />
    <${WaitingNote} topic=${topic} />
    ${
      leftOut.length > 0 &&
      !q.partition &&
      html`<${Note}>
        The topic has ${count(ends.data?.topic_partitions)} partitions. This list has the records of
        the first ${count(leftOut[0])}. Choose another partition above.
      <//>`
    }
    ${
      written &&
      html`<${Note}>
        Record written to partition ${written.partition}
        ${
          written.offset >= 0 &&
          html` at <a href=${links.record(topic, written.partition, written.offset)}>
              offset ${count(written.offset)}
            </a>
          `
        }.
      <//>`
    }
    ${
      !ends.error &&
      html`<${mode} key=${mode.name + (q.live || isSearch ? asked : "")} ...${common} />`
    }
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
