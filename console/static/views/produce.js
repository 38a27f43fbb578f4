// @ts-check
// A form for a record: a new one, or a record of the topic that is sent again.

import { html, useState } from "../vendor/preact.js";
import { goTo } from "../address.js";
import { messageOf, path, post, useGet } from "../api.js";
import * as links from "../links.js";
import { Button, Check, Dialog, ErrorLine, Field, Note, time } from "../parts/index.js";
import { FORM_NAMES, inForm, membersOf, typedOf } from "./typed_data.js";

/**
 * @typedef {import("./typed_data.js").Typed} Typed
 * @typedef {{ name: string, isNew: boolean } & Typed} TypedHeader
 */

/** @type {TypedHeader} */
const NEW_HEADER = { name: "", isNew: true, form: "text", text: "", isNull: false };

/**
 * `record`: the record to send again. `onDone({ partition, offset })` is called for a record that
 * was written to the topic; if it was written to another topic, the page goes there. `partitions`
 * null: they are looked up.
 *
 * @param {{
 *   topic: string, partitions: number[] | null, record: Answer.RecordShown | null, onDone: Call,
 *   onClose: Call,
 * }} props
 */
export function Produce({ topic, partitions, record, onDone, onClose }) {
  const [key, setKey] = useState(() => typedOf(record ? record.key : null, { isLine: true }));
  const [value, setValue] = useState(() => typedOf(record?.value));
  const [headers, setHeaders] = useState(() => typedHeaders(record));
  const [target, setTarget] = useState(topic);
  const [partition, setPartition] = useState(record ? String(record.partition) : "");
  const [keepsTime, setKeepsTime] = useState(false);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const isCut = record !== null && isOnlyBeginning(record);

  async function send() {
    setBusy(true);
    setError(null);
    try {
      const place = await post(path("/api/topics/{}/messages", target), {
        ...membersOf("key", key),
        ...membersOf("value", value),
        headers: headers
          .filter((header) => !isUntouched(header))
          .map((header) => ({ key: header.name, ...membersOf("value", header) })),
        partition: partition === "" ? null : Number(partition),
        timestamp: record && keepsTime ? record.timestamp : null,
      });
      if (target === topic) {
        onDone(place);
      } else {
        onClose();
        goTo(links.record(target, place.partition, place.offset));
      }
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  }
  /** @param {string} name */
  function aim(name) {
    setTarget(name.trim() || topic);
    setPartition(name.trim() === topic && record ? String(record.partition) : "");
  }
  return html`<${Dialog} title=${record ? "Send the record again" : `Write to ${topic}`}
      onClose=${onClose} onSubmit=${() => !busy && !isCut && send()} footer=${[
        html`<${Button} onClick=${onClose}>Cancel<//>`,
        html`<${Button} type="submit" kind="primary" disabled=${busy || isCut}>
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
    <${Data} label="Key" typed=${key} set=${setKey} rows=${1} whenNull="No key (null)" isLine />
    <${Data} label="Value" typed=${value} set=${setValue} rows=${8}
        whenNull="No value (null, a tombstone)" />
    <${HeaderRows} headers=${headers} set=${setHeaders} />
    <div class="row">
      ${
        record &&
        html`<${Field} label="Topic">
          <input value=${target} onChange=${(event) => aim(event.target.value)} required
              autocomplete="off" spellcheck=${false} />
        <//>`
      }
      <${Partition} topic=${target} known=${target === topic ? partitions : null}
          value=${partition} set=${setPartition} />
      ${
        record &&
        html`<${Field} label="Timestamp">
          <select value=${keepsTime ? "record" : "now"}
              onChange=${(event) => setKeepsTime(event.target.value === "record")}>
            <option value="now">now</option>
            <option value="record">of the record, ${time(record.timestamp)}</option>
          </select>
        <//>`
      }
    </div>
    <${ErrorLine} error=${error} />
  <//>`;
}

/** @param {Answer.RecordShown} record */
function isOnlyBeginning(record) {
  const data = [record.key, record.value, ...record.headers.map(([, header]) => header)];
  return Boolean(record.more_headers) || data.some((part) => part?.cut);
}

/**
 * @param {Answer.RecordShown | null} record
 * @returns {TypedHeader[]}
 */
function typedHeaders(record) {
  return (record?.headers ?? []).map(([name, data]) => ({
    name,
    isNew: false,
    ...typedOf(data, { isLine: true }),
  }));
}

/**
 * Return true for a row that was added and left empty. A header without a name that the record had
 * is sent.
 *
 * @param {TypedHeader} header
 */
function isUntouched(header) {
  return header.isNew && header.name === "" && header.text === "";
}

/** @param {{ headers: TypedHeader[], set: (headers: TypedHeader[]) => void }} props */
function HeaderRows({ headers, set }) {
  /** @param {number} at @param {Partial<TypedHeader>} change */
  function alter(at, change) {
    set(headers.map((header, index) => (index === at ? { ...header, ...change } : header)));
  }
  return html`<div class="stack headers-typed">
    ${headers.map(
      (header, at) =>
        html`<div class="row" key=${at}>
          <input aria-label="Name of header ${at + 1}" placeholder="header" value=${header.name}
              spellcheck=${false} autocomplete="off"
              onInput=${(event) => alter(at, { name: event.target.value })} />
          <input aria-label="Value of header ${at + 1}"
              placeholder=${header.isNull ? "null" : "value"} value=${header.text}
              spellcheck=${false} autocomplete="off"
              onInput=${(event) => alter(at, { text: event.target.value, isNull: false })} />
          <${FormChoice} label="Header ${at + 1}" typed=${header} isLine
              set=${(typed) => alter(at, typed)} />
          <${Button} kind="plain" label="Remove header ${at + 1}"
              onClick=${() => set(headers.filter((_, index) => index !== at))}>✕<//>
        </div>`,
    )}
    <div>
      <${Button} onClick=${() => set([...headers, NEW_HEADER])}>Add a header<//>
    </div>
  </div>`;
}

/**
 * @param {{
 *   label: string, typed: Typed, set: (typed: Typed) => void, rows: number, whenNull: string,
 *   isLine?: boolean,
 * }} props
 */
function Data({ label, typed, set, rows, whenNull, isLine = false }) {
  return html`<div class="typed">
    <${Field} label=${label}>
      <textarea rows=${rows} style=${{ minHeight: rows === 1 ? "34px" : undefined }}
          aria-label=${label} spellcheck=${false} disabled=${typed.isNull} value=${typed.text}
          onInput=${(event) => set({ ...typed, text: event.target.value })}></textarea>
    <//>
    <div class="spread">
      <${Check} label=${whenNull} checked=${typed.isNull}
          onChange=${(isNull) => set({ ...typed, isNull })} />
      ${
        !typed.isNull &&
        html`<${FormChoice} label=${label} typed=${typed} set=${set} isLine=${isLine} />`
      }
    </div>
  </div>`;
}

/**
 * @param {{ label: string, typed: Typed, set: (typed: Typed) => void, isLine?: boolean }} props
 */
function FormChoice({ label, typed, set, isLine = false }) {
  const [error, setError] = useState(null);
  /** @param {Event & { target: any }} event */
  function choose(event) {
    try {
      set(inForm(typed, event.target.value, { isLine }));
      setError(null);
    } catch (failure) {
      event.target.value = typed.form;
      setError(messageOf(failure));
    }
  }
  return html`${error && html`<span class="quiet" role="status">${error}</span>`}
    <select class="small" aria-label="Format of ${label}" value=${typed.form} onChange=${choose}>
      ${Object.entries(FORM_NAMES).map(
        ([form, name]) => html`<option value=${form}>${name}</option>`,
      )}
    </select>`;
}

/**
 * `known`: the topic's partitions; null: the console is asked for them.
 *
 * @param {{
 *   topic: string, known: number[] | null, value: string, set: (partition: string) => void,
 * }} props
 */
function Partition({ topic, known, value, set }) {
  const { data, error } = useGet(known ? null : path("/api/topics/{}", topic));
  const partitions = known ?? (data?.partitions ?? []).map(({ partition }) => partition);
  return html`<${Field} label="Partition">
      <select value=${value} onChange=${(event) => set(event.target.value)}>
        <option value="">by key, as producers do</option>
        ${partitions.map((partition) => html`<option value=${partition}>${partition}</option>`)}
      </select>
    <//>
    <${ErrorLine} error=${error} />`;
}
