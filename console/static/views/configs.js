// @ts-check
// Configs of brokers, topics, groups and client metrics: values, sources, meanings, and changes.

import { html, useMemo, useState } from "../vendor/preact.js";
import { goTo, useAddressFlag, useAddressState } from "../address.js";
import { path, useGet } from "../api.js";
import * as links from "../links.js";
import {
  Badge,
  Button,
  Check,
  Empty,
  ErrorLine,
  Note,
  Page,
  Panel,
  plural,
  SearchBox,
  Text,
  Waiting,
} from "../parts/index.js";
import { useDenied } from "../rights.js";
import { Edit } from "./config_edit.js";
import { inWords } from "./config_words.js";

const KINDS = [
  ["broker", "Brokers"],
  ["topic", "Topics"],
  ["group", "Groups"],
  ["client-metrics", "Client metrics"],
];
const SOURCES = {
  default: "",
  file: "info",
  broker: "violet",
  "all brokers": "violet",
  topic: "good",
  group: "good",
  "client metrics": "good",
};
const ABOUT = "Configs of brokers, topics, groups and client metrics: value, source and meaning.";

/** @param {{ params: Params, about: Partial<Answer.About> }} props */
export function Configs({ params, about }) {
  const [kind, called] = KINDS.find(([one]) => one === params.q.kind) ?? KINDS[0];
  const { data: known, error, again } = useGet("/api/configs/resources");
  const names = known?.[kind] ?? [];
  const name =
    params.q.name ?? (kind === "broker" ? names.find((one) => one !== "all") : names[0]) ?? null;
  const [word, setWord] = useAddressState("q");
  const [changed, setChanged] = useAddressFlag("changed", true);
  return html`<${Page} title="Configs" about=${ABOUT} actions=${html`
    <${SearchBox} label="Find a config" value=${word} onInput=${setWord} />
    <${Check} label="Changed only" checked=${changed} onChange=${setChanged} />
  `}>
    <${ErrorLine} error=${error} onAgain=${again} />
    <div class="config-choice">
      <nav class="tabs" aria-label="Resource type">
        ${KINDS.map(
          ([one, title]) =>
            html`<a href=${links.configs({ ...params.q, kind: one, name: null })}
                aria-current=${one === kind ? "page" : undefined}>
              ${title}
            </a>`,
        )}
      </nav>
      ${
        names.length > 0 &&
        html`<${Names} q=${params.q} kind=${kind} names=${names} name=${name} />`
      }
    </div>
    ${!known && !error && html`<${Waiting} />`}
    ${known?.absent[kind] && html`<${Note}>${known.absent[kind]}<//>`}
    ${
      known &&
      name === null &&
      !known.absent[kind] &&
      html`<${Empty} title=${`The cluster has no ${called.toLowerCase()}`} />`
    }
    ${
      name !== null &&
      html`<${Resource} key=${`${kind} ${name}`} kind=${kind} name=${name} word=${word}
          changed=${changed} writes=${about.writes} onAll=${() => setChanged(false)} />`
    }
  <//>`;
}

/** @param {{ q: Q, kind: string, names: any, name: string }} props */
function Names({ q, kind, names, name }) {
  if (kind === "broker") {
    return html`<div class="row" role="group" aria-label="Broker">
      ${names.map(
        (one) =>
          html`<a class="button ${one === name ? "chosen" : ""}"
              aria-current=${one === name ? "true" : undefined}
              href=${links.configs({ ...q, kind, name: one })}>
            ${one === "all" ? "all brokers" : `broker ${one}`}
          </a>`,
      )}
    </div>`;
  }
  return html`<label class="row">
    <span class="hidden-text">Name</span>
    <input class="names" list="config-names" key=${name} value=${name} onChange=${(event) =>
      names.includes(event.target.value) &&
      goTo(links.configs({ ...q, kind, name: event.target.value }))} />
    <datalist id="config-names">
      ${names.slice(0, 2000).map((one) => html`<option value=${one} />`)}
    </datalist>
  </label>`;
}

/**
 * @param {{
 *   kind: string, name: string, word: string, changed: boolean, writes: boolean, onAll: Call,
 * }} props
 */
function Resource({ kind, name, word, changed, writes, onAll }) {
  const { data, error, again } = useGet(path("/api/configs", { kind, name }));
  const isTopic = kind === "topic";
  const deniedOf = useDenied(writes && kind !== "group", isTopic ? "topic" : "cluster", name);
  const noChange = deniedOf("ALTER_CONFIGS");
  const [edited, setEdited] = useState(null);
  const rows = useMemo(() => chosen(data?.rows ?? [], word, changed), [data, word, changed]);
  if (error) return html`<${ErrorLine} error=${error} onAgain=${again} />`;
  if (!data) return html`<${Waiting} />`;
  const canAdd = writes && (kind === "client-metrics" || kind === "group" || name === "all");
  const hidden = changed && !word ? data.rows.filter((one) => one.is_default).length : 0;
  return html`
    <${Panel} inside=${false}
        title=${`${plural(rows.length, "config")}${changed ? " changed" : ""}`} actions=${html`
          ${
            hidden > 0 && html`<${Button} kind="plain" onClick=${onAll}>Show ${hidden} defaults<//>`
          }
          ${
            canAdd &&
            html`<${Button} disabled=${Boolean(noChange)} title=${noChange}
                onClick=${() => setEdited({ key: "", value: "", isNew: true })}>
              Set a config…
            <//>`
          }
        `}>
      ${
        rows.length === 0
          ? html`<${Empty} title=${word ? "No config matches" : "No changed configs"}>
              ${!word && "All values are defaults."}
            <//>`
          : html`<ul class="configs">
              ${rows.map(
                (one) =>
                  html`<${Row} key=${one.key} one=${one} kind=${kind} writes=${writes}
                      noChange=${noChange} onEdit=${() => setEdited(one)} />`,
              )}
            </ul>`
      }
    <//>
    ${
      edited &&
      html`<${Edit} kind=${kind} name=${name} config=${edited} onClose=${() => setEdited(null)}
          onDone=${again} />`
    }
  `;
}

/**
 * @param {Answer.ConfigRow[]} rows
 * @param {string} word
 * @param {boolean} changed
 */
function chosen(rows, word, changed) {
  const wanted = word.trim().toLowerCase();
  return rows.filter(
    (one) =>
      (!changed || !one.is_default || wanted) &&
      (!wanted ||
        one.key.toLowerCase().includes(wanted) ||
        (one.value ?? "").toLowerCase().includes(wanted) ||
        (one.documentation ?? "").toLowerCase().includes(wanted)),
  );
}

/**
 * @param {{
 *   one: any, kind: string, writes: boolean, noChange: string | undefined, onEdit: Call,
 * }} props
 */
function Row({ one, kind, writes, noChange, onEdit }) {
  const below = one.synonyms.filter(
    (each, at) => at > 0 || each.source !== one.source || each.key !== one.key,
  );
  const canEdit = writes && !(one.read_only && kind === "broker") && !one.secret;
  return html`<li class="config">
    <div class="config-key"><code>${one.key}</code> <span class="quiet">${one.type}</span></div>
    <div class="config-value">
      ${
        one.secret
          ? html`<span class="quiet">hidden (secret)</span>`
          : html`<${Shown} name=${one.key} value=${one.value} />`
      }
    </div>
    <div class="config-source">
      <${Badge} kind=${SOURCES[one.source] ?? ""} plain>${one.source}<//>
      ${one.read_only && html`<span class="quiet">read only</span>`}
      ${
        canEdit &&
        html`<${Button} kind="plain" label=${`Change ${one.key}`} disabled=${Boolean(noChange)}
            title=${noChange} onClick=${onEdit}>Change…<//>`
      }
    </div>
    ${
      one.documentation &&
      html`<p class="config-words">
        ${one.documentation}
        ${
          one.by_ottla &&
          html` <span title="The cluster sent no documentation">(documentation from Ottla)</span>`
        }
      </p>`
    }
    ${
      below.length > 0 &&
      !one.is_default &&
      html`<details class="config-below">
        <summary>overrides ${plural(below.length, "value")}</summary>
        <ul>
          ${below.map(
            (each) =>
              html`<li>
                <code>${each.key}</code> = <code>
                  ${one.secret ? "hidden" : (each.value ?? "none")}
                </code> <span class="quiet">${each.source}</span>
              </li>`,
          )}
        </ul>
      </details>`
    }
  </li>`;
}

/** @param {{ name: string, value: string | null }} props */
function Shown({ name, value }) {
  if (value === null) return html`<span class="quiet">none</span>`;
  if (value === "") return html`<span class="quiet">empty</span>`;
  const words = inWords(name, value);
  return html`<code><${Text} value=${value} /></code>${
    words && html` <span class="quiet">${words}</span>`
  }`;
}
