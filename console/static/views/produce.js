// @ts-check
// A form for one record: written, or sent again as it was.

import { html, useState } from "../vendor/preact.js";
import { path, post } from "../api.js";
import { Button, Check, Dialog, ErrorLine, Field, Note } from "../parts/index.js";

function asTyped(data) {
  if (!data) return { text: "", isNull: data === null, is64: false };
  return { text: data.base64 ?? data.text, isNull: false, is64: data.base64 !== undefined };
}

function asSent(name, { text, isNull, is64 }) {
  if (isNull) return {};
  return is64 ? { [`${name}_base64`]: text.replace(/\s+/g, "") } : { [name]: text };
}

/**
 * `record`: what it is filled with; `onDone({partition, offset})`.
 *
 * @param {{
 *   topic: string, partitions: number[], record: Answer.RecordShown | null, onDone: Call,
 *   onClose: Call,
 * }} props
 */
export function Produce({ topic, partitions, record, onDone, onClose }) {
  const [key, setKey] = useState(() => asTyped(record ? record.key : null));
  const [value, setValue] = useState(() => asTyped(record?.value));
  const [headers, setHeaders] = useState(() =>
    (record?.headers ?? []).map(([name, data]) => ({ name, ...asTyped(data) })),
  );
  const [partition, setPartition] = useState("");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const isCut =
    record &&
    (record.key?.cut ||
      record.value?.cut ||
      record.headers.some(([, one]) => one?.cut) ||
      record.more_headers);

  async function send() {
    setBusy(true);
    setError(null);
    try {
      onDone(
        await post(path("/api/topics/{}/messages", topic), {
          ...asSent("key", key),
          ...asSent("value", value),
          headers: headers
            .filter((one) => one.name)
            .map((one) => ({ key: one.name, ...asSent("value", one) })),
          partition: partition === "" ? null : Number(partition),
        }),
      );
    } catch (failure) {
      setError(failure.message);
      setBusy(false);
    }
  }

  function change(at, what) {
    setHeaders(headers.map((one, index) => (index === at ? { ...one, ...what } : one)));
  }

  return html`<${Dialog} title=${record ? "Send the record again" : `Write to ${topic}`}
      onClose=${onClose} footer=${[
        html`<${Button} onClick=${onClose}>Cancel<//>`,
        html`<${Button} kind="primary" onClick=${send} disabled=${busy || isCut}>
          Write the record
        <//>`,
      ]}>
    ${
      isCut &&
      html`<${Note} kind="warn">
        The record is too large for this form. Send it again with ottla consume --json and ottla
        produce --json.
      <//>`
    }
    <${Typed} label="Key" one=${key} set=${setKey} rows=${1} nothing="No key (null)" />
    <${Typed} label="Value" one=${value} set=${setValue} rows=${8}
        nothing="No value (null, a tombstone)" />
    <div class="stack headers-typed">
      ${headers.map(
        (one, at) =>
          html`<div class="row" key=${at}>
            <input aria-label="Name of header ${at + 1}" placeholder="header" value=${one.name}
                onInput=${(event) => change(at, { name: event.target.value })} />
            <input aria-label="Value of header ${at + 1}" placeholder=${kindOf(one)}
                value=${one.text}
                onInput=${(event) => change(at, { text: event.target.value, isNull: false })} />
            <${Button} kind="plain" label="Remove header ${at + 1}"
                onClick=${() => setHeaders(headers.filter((_, index) => index !== at))}>✕<//>
          </div>`,
      )}
      <div>
        <${Button} onClick=${() =>
          setHeaders([
            ...headers,
            { name: "", text: "", isNull: false, is64: false },
          ])}>Add a header<//>
      </div>
    </div>
    <${Field} label="Partition">
      <select value=${partition} onChange=${(event) => setPartition(event.target.value)}>
        <option value="">by key, as producers do</option>
        ${partitions.map((one) => html`<option value=${one}>${one}</option>`)}
      </select>
    <//>
    <${ErrorLine} error=${error} />
  <//>`;
}

/** @param {{ label: string, one: any, set: Call, rows: any, nothing: any }} props */
function Typed({ label, one, set, rows, nothing }) {
  return html`<div class="typed">
    <${Field} label=${one.is64 ? `${label}, in base64` : label}>
      <textarea rows=${rows} style=${{ minHeight: rows === 1 ? "34px" : undefined }}
          spellcheck="false" disabled=${one.isNull} value=${one.text}
          onInput=${(event) => set({ ...one, text: event.target.value })}></textarea>
    <//>
    <${Check} label=${nothing} checked=${one.isNull}
        onChange=${(isNull) => set({ ...one, isNull })} />
  </div>`;
}

function kindOf(header) {
  if (header.isNull) return "null";
  return header.is64 ? "base64" : "value";
}
