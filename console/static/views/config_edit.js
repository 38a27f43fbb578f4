// @ts-check
// A config's value, set or taken back: looked at by the cluster first.

import { html, useEffect, useState } from "../vendor/preact.js";
import { post } from "../api.js";
import { Button, Dialog, ErrorLine, Field, Note } from "../parts/index.js";

/** @param {{ kind: string, name: string, one: any, onClose: Call, onDone: Call }} props */
export function Edit({ kind, name, one, onClose, onDone }) {
  const [key, setKey] = useState(one.key);
  const [value, setValue] = useState(one.value ?? "");
  const [checked, setChecked] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setChecked(null);
    setError(null);
  }, [key, value]);
  async function send(change, execute) {
    setBusy(true);
    setError(null);
    try {
      await post("/api/configs", { kind, name, ...change, execute });
      if (execute) {
        onDone();
        onClose();
      } else {
        setChecked(change);
      }
    } catch (failure) {
      setError(failure.message);
      setChecked(null);
    } finally {
      setBusy(false);
    }
  }
  const set = { set: { [key]: value } };
  const isOwn =
    !one.isNew &&
    ["topic", "group", "broker", "all brokers", "client metrics"].includes(one.source);
  return html`<${Dialog} title=${one.isNew ? `Set a config of ${kind} ${name}` : key}
      onClose=${onClose} footer=${[
        html`<${Button} onClick=${onClose}>Cancel<//>`,
        isOwn &&
          html`<${Button} disabled=${busy} onClick=${() => send({ unset: [key] }, false)}>
            Reset to the default
          <//>`,
        checked
          ? html`<${Button} kind="primary" disabled=${busy} onClick=${() => send(checked, true)}>
              ${checked.unset ? "Remove the value" : "Set the value"}
            <//>`
          : html`<${Button} kind="primary" disabled=${busy || !key}
                onClick=${() => send(set, false)}>Check<//>`,
      ]}>
    ${
      one.isNew &&
      html`<${Field} label="Key">
        <input value=${key} onInput=${(event) => setKey(event.target.value.trim())}
            autocomplete="off" />
      <//>`
    }
    ${one.documentation && html`<p class="quiet">${one.documentation}</p>`}
    <${Field} label="Value">
      <input value=${value} onInput=${(event) => setValue(event.target.value)} autocomplete="off" />
    <//>
    <${ErrorLine} error=${error} />
    ${
      checked &&
      html`<${Note}>
        The cluster accepts the change. ${
          checked.unset
            ? `It removes this value of ${key}`
            : `It sets ${key} to ${value || "an empty value"}`
        }. Nothing has changed yet.
      <//>`
    }
  <//>`;
}
