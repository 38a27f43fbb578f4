// @ts-check
// A form for the value of a config: the cluster checks a change before it can be made.

import { html, useEffect, useState } from "../vendor/preact.js";
import { messageOf, post } from "../api.js";
import { Button, Dialog, ErrorLine, Field, Note } from "../parts/index.js";
import { inWords } from "./config_words.js";

const OWN_SOURCES = ["topic", "group", "broker", "all brokers", "client metrics"];

/**
 * The config to change; `isNew`: its key is typed, too.
 *
 * @typedef {{
 *   key: string, value: string | null, source?: string, documentation?: string | null,
 *   isNew?: boolean,
 * }} EditedConfig
 * @typedef {{ set?: Record<string, string>, unset?: string[] }} Change
 */

/**
 * `documentationOf(key)`: the documentation of a typed key.
 *
 * @param {{
 *   kind: string, name: string, config: EditedConfig, onClose: Call, onDone: Call,
 *   documentationOf?: (key: string) => string | null | undefined,
 * }} props
 */
export function Edit({ kind, name, config, onClose, onDone, documentationOf }) {
  const [key, setKey] = useState(config.key);
  const [value, setValue] = useState(config.value ?? "");
  const [checked, setChecked] = useState(/** @type {Change | null} */ (null));
  const [warnings, setWarnings] = useState(/** @type {string[]} */ ([]));
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setChecked(null);
    setError(null);
  }, [key, value]);
  /** @param {Change} change @param {boolean} execute */
  async function send(change, execute) {
    setBusy(true);
    setError(null);
    try {
      const answer = await post("/api/configs", { kind, name, ...change, execute });
      if (execute) {
        onDone();
        onClose();
      } else {
        setChecked(change);
        setWarnings(answer.warnings);
      }
    } catch (failure) {
      setError(messageOf(failure));
      setChecked(null);
    } finally {
      setBusy(false);
    }
  }
  const isReady = !busy && key !== "";
  function submit() {
    if (!isReady) return;
    if (checked) send(checked, true);
    else send({ set: { [key]: value } }, false);
  }
  const isOwn = !config.isNew && OWN_SOURCES.includes(config.source ?? "");
  const documentation = documentationOf?.(key) ?? config.documentation;
  const words = inWords(key, value.trim());
  return html`<${Dialog} title=${config.isNew ? `Set a config of ${kind} ${name}` : key}
      onClose=${onClose} onSubmit=${submit} footer=${[
        html`<${Button} onClick=${onClose}>Cancel<//>`,
        isOwn &&
          html`<${Button} disabled=${busy} onClick=${() => send({ unset: [key] }, false)}>
            Reset to the default
          <//>`,
        html`<${Button} type="submit" kind=${checked && warnings.length ? "danger" : "primary"}
            disabled=${!isReady}>
          ${actionOf(checked)}
        <//>`,
      ]}>
    ${
      config.isNew &&
      html`<${Field} label="Key">
        <input value=${key} onInput=${(event) => setKey(event.target.value.trim())}
            autocomplete="off" spellcheck=${false} />
      <//>`
    }
    ${documentation && html`<p class="quiet">${documentation}</p>`}
    <${Field} label=${words ? `Value: ${words}` : "Value"}>
      <input aria-label="Value" value=${value} onInput=${(event) => setValue(event.target.value)}
          autocomplete="off" spellcheck=${false} />
    <//>
    <${ErrorLine} error=${error} />
    ${checked && warnings.map((warning) => html`<${Note} kind="warn">${warning}<//>`)}
    ${
      checked &&
      html`<${Note}>
        The cluster accepts the change. ${said(checked, key, value)} Nothing has changed yet.
      <//>`
    }
  <//>`;
}

/** @param {Change | null} checked */
function actionOf(checked) {
  if (!checked) return "Check";
  return checked.unset ? "Remove the value" : "Set the value";
}

/** @param {Change} checked @param {string} key @param {string} value */
function said(checked, key, value) {
  if (checked.unset) return `It removes this value of ${key}.`;
  const words = inWords(key, value.trim());
  return `It sets ${key} to ${value || "an empty value"}${words ? ` (${words})` : ""}.`;
}
