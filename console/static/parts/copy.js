// @ts-check
// Copying to the clipboard. Browsers have the clipboard's API only on https and this machine; on
// other pages a selected text is copied by the older command, or by the user's keys.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Button, Dialog } from "./controls.js";

const DONE_MS = 4000;

/**
 * A menu of texts to copy. `items`: name, and the function that returns the text or a promise of
 * it; an error of that function is shown.
 *
 * @param {{ items: [name: string, textOf: () => string | Promise<string>][] }} props
 */
export function CopyMenu({ items }) {
  const menu = useRef(null);
  const [copied, setCopied] = useState(/** @type {string | null} */ (null));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const [manual, setManual] = useState(/** @type {string | null} */ (null));
  useEffect(() => {
    /** @param {Event} event */
    function close(event) {
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      const isOutside = event.type === "click" && !menu.current?.contains(event.target);
      if (isEscape || isOutside) menu.current?.removeAttribute("open");
    }
    addEventListener("click", close);
    addEventListener("keydown", close);
    return () => {
      removeEventListener("click", close);
      removeEventListener("keydown", close);
    };
  }, []);
  useEffect(() => {
    if (copied === null) return undefined;
    const timer = setTimeout(() => setCopied(null), DONE_MS);
    return () => clearTimeout(timer);
  }, [copied]);

  /** @param {string} name @param {() => string | Promise<string>} textOf */
  async function copy(name, textOf) {
    menu.current.removeAttribute("open");
    menu.current.querySelector("summary").focus();
    setCopied(null);
    setError(null);
    try {
      const text = await textOf();
      if (await toClipboard(text)) setCopied(name);
      else setManual(text);
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    }
  }
  return html`<details class="menu" ref=${menu}>
      <summary class="button">Copy</summary>
      <div class="menu-items">
        ${items.map(
          ([name, textOf]) =>
            html`<button type="button" class="plain" onClick=${() => copy(name, textOf)}>
              ${name}
            </button>`,
        )}
      </div>
    </details>
    <span class="quiet" role="status">${error ?? (copied && `Copied: ${copied}`)}</span>
    ${manual !== null && html`<${Selected} text=${manual} onClose=${() => setManual(null)} />`}`;
}

/**
 * Copy by the clipboard's API. Return false if the browser does not allow that here.
 *
 * @param {string} text
 */
async function toClipboard(text) {
  if (!navigator.clipboard) return false;
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * A dialog with the selected text. It copies the text by itself if the browser allows that.
 *
 * @param {{ text: string, onClose: Call }} props
 */
function Selected({ text, onClose }) {
  const area = useRef(null);
  const [isCopied, setCopied] = useState(false);
  /** Copy the exact text: a text field drops each \r. @param {ClipboardEvent} event */
  function copy(event) {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  }
  useEffect(() => {
    area.current.select();
    setCopied(document.execCommand("copy"));
  }, []);
  return html`<${Dialog} title=${isCopied ? "Copied" : "Copy this text"} onClose=${onClose}
      footer=${html`<${Button} onClick=${onClose}>Close<//>`}>
    <p class="quiet">
      ${isCopied ? "The text is in the clipboard." : "The text is selected: press Ctrl+C or ⌘C."}
    </p>
    <textarea ref=${area} readonly rows="8" aria-label="Text to copy" onCopy=${copy}
        value=${text}></textarea>
  <//>`;
}
