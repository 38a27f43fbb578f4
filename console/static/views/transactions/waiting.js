// @ts-check
// The note of a topic's pages: which open transaction its records wait for.

import { html } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import * as links from "../../links.js";
import { Note, Text, plural } from "../../parts/index.js";
import { blockers, waitingWords } from "./words.js";

const EVERY_MS = 5000;

/**
 * A note if records of the topic wait for a transaction, with a link to it.
 *
 * @param {{ topic: string }} props
 */
export function WaitingNote({ topic }) {
  const { data } = useGet(path("/api/topics/{}/waiting", topic), { every: EVERY_MS });
  const now = Date.now();
  const [first, ...more] = blockers(data?.partitions ?? [], now);
  if (!first) return null;
  const [before, name, after] = waitingWords(first, now);
  const address = links.transactions(first.id === null ? { topic } : { q: first.id });
  return html`<${Note} kind="warn">
    ${before}<a href=${address}><${Text} value=${name} /></a>${after}.
    ${more.length > 0 && ` Other records wait for ${plural(more.length, "more transaction")}.`}
    ${" "}Consumers with <code>isolation.level=read_committed</code> do not get them before it ends.
  <//>`;
}
