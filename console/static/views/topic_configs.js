// @ts-check
// The configs of a topic, on the topic's page.

import { html, useState } from "../vendor/preact.js";
import { useAddressFlag } from "../address.js";
import { path, useGet } from "../api.js";
import { Badge, Button, Check, Empty, ErrorLine, Panel, Table, Text } from "../parts/index.js";
import { Edit } from "./config_edit.js";
import { inWords } from "./config_words.js";

/**
 * `noChange`: why the login may not change configs.
 *
 * @param {{ topic: string, writes: boolean, noChange: string | undefined }} props
 */
export function Configs({ topic, writes, noChange }) {
  const { data, error, again } = useGet(path("/api/topics/{}/configs", topic));
  const [all, setAll] = useAddressFlag("defaults");
  const [edited, setEdited] = useState(
    /** @type {import("./config_edit.js").EditedConfig | null} */ (null),
  );
  const rows = (data ?? []).filter((config) => all || config.own);
  return html`<${Panel} title="Configs" inside=${false} actions=${html`
    <${Check} label="Show defaults" checked=${all} onChange=${setAll} />
    ${
      writes &&
      html`<${Button} disabled=${Boolean(noChange)} title=${noChange}
          onClick=${() => setEdited({ key: "", value: "", isNew: true })}>
        Set a config
      <//>`
    }
  `}>
    ${error && html`<div class="inside"><${ErrorLine} error=${error} onAgain=${again} /></div>`}
    ${
      data &&
      html`<${Table} label="Configs" rows=${rows}
          columns=${columnsOf(writes ? setEdited : null, noChange)}
          id=${(config) => config.name}
          empty=${html`<${Empty} title="The topic has no configs of its own">
            The brokers' defaults apply.
          <//>`} />`
    }
    ${
      edited &&
      html`<${Edit} kind="topic" name=${topic} config=${edited} onClose=${() => setEdited(null)}
          onDone=${again} documentationOf=${(key) =>
            data?.find((config) => config.name === key)?.documentation} />`
    }
  <//>`;
}

/**
 * @param {Call | null} onEdit
 * @param {string | undefined} noChange
 * @returns {Column<Answer.TopicConfig>[]}
 */
function columnsOf(onEdit, noChange) {
  /** @type {Column<Answer.TopicConfig>[]} */
  const columns = [
    {
      name: "Config",
      value: (config) => config.name,
      show: (config) => html`<span class="config-name">${config.name}</span>`,
    },
    {
      name: "Value",
      value: (config) => config.value,
      wide: true,
      show: (config) => html`<${Value} config=${config} />`,
    },
    {
      name: "Source",
      value: (config) => config.source,
      show: (config) => html`<${Badge} plain kind=${config.own ? "info" : ""}>${config.source}<//>`,
    },
  ];
  if (onEdit)
    columns.push({
      name: "",
      label: "Change",
      show: (config) =>
        html`<${Button} kind="plain" label="Change ${config.name}" disabled=${Boolean(noChange)}
            title=${noChange}
            onClick=${() => onEdit({ ...config, key: config.name })}>Change<//>`,
    });
  return columns;
}

/** @param {{ config: Answer.TopicConfig }} props */
function Value({ config }) {
  if (!config.value)
    return html`<span class="quiet">${config.value === null ? "not shown" : "empty"}</span>`;
  const words = inWords(config.name, config.value);
  return html`<span class="mono"><${Text} value=${config.value} /></span>${
    words && html` <span class="quiet">${words}</span>`
  }`;
}
