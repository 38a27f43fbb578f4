// @ts-check
// A topic's configs, and to change them.

import { html, useState } from "../vendor/preact.js";
import { useAddressFlag } from "../address.js";
import { path, post, useGet } from "../api.js";
import {
  Badge,
  Button,
  Check,
  Confirm,
  Empty,
  ErrorLine,
  Field,
  Panel,
  Table,
  Text,
} from "../parts/index.js";
import { pairs } from "./topics.js";

/** @param {{ topic: string, writes: boolean }} props */
export function Configs({ topic, writes }) {
  const { data, error, again } = useGet(path("/api/topics/{}/configs", topic));
  const [all, setAll] = useAddressFlag("defaults");
  const [editing, setEditing] = useState(null);
  const rows = (data ?? []).filter((one) => all || one.own);
  /** @type {Column<Answer.TopicConfig>[]} */
  const columns = [
    {
      name: "Config",
      value: (one) => one.name,
      show: (one) => html`<span class="config-name">${one.name}</span>`,
    },
    {
      name: "Value",
      value: (one) => one.value,
      wide: true,
      show: (one) =>
        one.value
          ? html`<span class="mono"><${Text} value=${one.value} /></span>`
          : html`<span class="quiet">${one.value === null ? "not shown" : "empty"}</span>`,
    },
    {
      name: "Source",
      value: (one) => one.source,
      show: (one) => html`<${Badge} plain kind=${one.own ? "info" : ""}>${one.source}<//>`,
    },
    ...(writes
      ? [
          {
            name: "",
            label: "Change",
            show: (one) =>
              html`<${Button} kind="plain" label="Change ${one.name}"
                  onClick=${() => setEditing(one)}>Change<//>`,
          },
        ]
      : []),
  ];
  return html`<${Panel} title="Configs" inside=${false} actions=${html`
    <${Check} label="Show defaults" checked=${all} onChange=${setAll} />
    ${
      writes &&
      html`<${Button} onClick=${() => setEditing({ name: "", value: "", own: false })}>
        Set a config
      <//>`
    }
  `}>
    ${error && html`<div class="inside"><${ErrorLine} error=${error} onAgain=${again} /></div>`}
    ${
      data &&
      html`<${Table} label="Configs" columns=${columns} rows=${rows} id=${(one) => one.name}
          empty=${html`<${Empty} title="The topic has no configs of its own">
            The brokers' defaults apply.
          <//>`} />`
    }
    ${
      editing &&
      html`<${Change} topic=${topic} config=${editing} all=${data} onClose=${() => setEditing(null)}
          onDone=${again} />`
    }
  <//>`;
}

/**
 * @param {{
 *   topic: string, config: Answer.TopicConfig, all: Answer.TopicConfig[], onClose: Call,
 *   onDone: Call,
 * }} props
 */
function Change({ topic, config, all, onClose, onDone }) {
  const [text, setText] = useState(config.name ? (config.value ?? "") : "");
  const [isDefault, setDefault] = useState(false);
  const known = all.find((one) => one.name === (config.name || text.split("=")[0].trim()));
  async function change() {
    const body = isDefault
      ? { unset: [config.name] }
      : { set: config.name ? { [config.name]: text } : pairs(text) };
    await post(path("/api/topics/{}/configs", topic), body);
    onDone();
  }
  return html`<${Confirm} title=${config.name ? `Change ${config.name}` : "Set a config"}
      action="Change the topic" onConfirm=${change} onClose=${onClose}>
    ${
      config.name
        ? html`<${Field} label="Value">
            <input value=${text} disabled=${isDefault} spellcheck="false"
                onInput=${(event) => setText(event.target.value)} />
          <//>`
        : html`<${Field} label="KEY=VALUE, one per line">
            <textarea value=${text} spellcheck="false" placeholder="retention.ms=86400000"
                onInput=${(event) => setText(event.target.value)}></textarea>
          <//>`
    }
    ${
      config.own &&
      html`<${Check} label="Reset to the default" checked=${isDefault} onChange=${setDefault} />`
    }
    ${known?.documentation && html`<p class="config-about">${known.documentation}</p>`}
  <//>`;
}
