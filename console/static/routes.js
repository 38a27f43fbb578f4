// @ts-check
// The view of each address, and the items of the navigation.

import * as links from "./links.js";
import { Access } from "./views/access.js";
import { Configs } from "./views/configs.js";
import { Flow } from "./views/flow.js";
import { Group } from "./views/group.js";
import { Groups } from "./views/groups.js";
import { Messages } from "./views/messages.js";
import { Overview } from "./views/overview.js";
import { Quorum } from "./views/quorum.js";
import { RecordPage } from "./views/record.js";
import { Replicas } from "./views/replicas.js";
import { Segments } from "./views/segments.js";
import { Topic } from "./views/topic.js";
import { Topics } from "./views/topics.js";
import { Transactions } from "./views/transactions.js";
import { Producers } from "./views/transactions/producers.js";

/** @type {[string, (props: any) => any][]} */
export const ROUTES = [
  ["/", Overview],
  ["/topics", Topics],
  ["/topics/:topic", Topic],
  ["/topics/:topic/messages", Messages],
  ["/topics/:topic/messages/:partition/:offset", RecordPage],
  ["/topics/:topic/producers/:partition", Producers],
  ["/groups", Groups],
  ["/groups/:group", Group],
  ["/transactions", Transactions],
  ["/replicas", Replicas],
  ["/configs", Configs],
  ["/access", Access],
  ["/quorum", Quorum],
  ["/segments", Segments],
  ["/segments/:topic/:partition", Segments],
  ["/flow", Flow],
];

/** @typedef {[address: string, name: string, sign: string, letter: string]} Item */

/** @type {[title: string, items: Item[]][]} */
export const SECTIONS = [
  [
    "Cluster",
    [
      [links.overview(), "Overview", "overview", "o"],
      [links.topics(), "Topics", "topics", "t"],
      [links.groups(), "Groups", "groups", "g"],
      [links.transactions(), "Transactions", "transactions", "x"],
    ],
  ],
  [
    "Internals",
    [
      [links.segments(), "Segments on disk", "segments", "s"],
      [links.flow(), "How a record flows", "flow", "f"],
      [links.replicas(), "Replicas", "replicas", "r"],
      [links.quorum(), "Quorum", "quorum", "q"],
    ],
  ],
  [
    "Settings",
    [
      [links.configs(), "Configs", "configs", "c"],
      [links.access(), "Users and ACLs", "access", "a"],
    ],
  ],
];

/**
 * Return the view of an address, its parameters, and a key that is the same for all queries. The
 * parameter `q` is the query. The view is null if there is none.
 *
 * @param {string} hash
 */
export function viewAt(hash) {
  const [address] = hash.replace(/^#/, "").split("?");
  const words = (address || "/").split("/").slice(1);
  const q = links.queryOf(hash);
  for (const [form, view] of ROUTES) {
    const wanted = form.split("/").slice(1);
    if (wanted.length !== words.length) continue;
    /** @type {Record<string, any>} */
    const params = { q };
    const fits = wanted.every((one, at) => {
      if (!one.startsWith(":")) return one === words[at];
      try {
        params[one.slice(1)] = decodeURIComponent(words[at]);
      } catch {
        return false;
      }
      return words[at] !== "";
    });
    if (fits) return { view, params, key: form + JSON.stringify({ ...params, q: null }) };
  }
  return { view: null, params: { q }, key: "none" };
}
