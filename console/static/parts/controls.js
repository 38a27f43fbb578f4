// @ts-check
// Buttons, fields, tabs and dialogs.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";

/** A button. `kind`: primary, danger, plain; `label`: its name if its content is a sign. */
export function Button({
  kind = "",
  label,
  pressed,
  disabled,
  onClick,
  type = "button",
  title,
  children,
}) {
  return html`<button type=${type} class=${kind} aria-label=${label} aria-pressed=${pressed}
      title=${title} disabled=${disabled} onClick=${onClick}>${children}</button>`;
}

/** A label around an input, select or textarea. */
export function Field({ label, children }) {
  return html`<label class="field"><span>${label}</span>${children}</label>`;
}

export function Check({ label, checked, onChange, disabled }) {
  return html`<label class="check">
    <input type="checkbox" checked=${checked} disabled=${disabled}
        onChange=${(event) => onChange(event.target.checked)} />
    ${label}
  </label>`;
}

/**
 * A search field; the key "/" puts the cursor there. What is typed may come back as `value` later,
 * by the address of the page: by then there may be more text, which stays.
 */
export function SearchBox({ label, value, onInput, placeholder = label, onEnter }) {
  const [text, setText] = useState(value);
  const underWay = useRef(/** @type {string[]} */ ([]));
  useEffect(() => {
    const place = underWay.current.indexOf(value);
    underWay.current = place < 0 ? [] : underWay.current.slice(place + 1);
    if (place < 0) setText(value);
  }, [value]);
  function take(/** @type {string} */ typed) {
    underWay.current.push(typed);
    setText(typed);
    onInput(typed);
  }
  return html`<input type="search" data-search aria-label=${label} placeholder=${placeholder}
      value=${text} onInput=${(event) => take(event.target.value)}
      onKeyDown=${(event) => event.key === "Enter" && onEnter?.()} />`;
}

/** Tabs, each a link: [[id, name, href]…]. */
export function Tabs({ items, current, label = "Parts of this page" }) {
  return html`<nav class="tabs" aria-label=${label}>
    ${items.map(
      ([id, name, href]) =>
        html`<a href=${href} aria-current=${id === current ? "page" : undefined}>${name}</a>`,
    )}
  </nav>`;
}

/**
 * A modal dialog; Escape and a click beside it close it. With `onSubmit` it is a form: Enter in a
 * field does the same as its button of type "submit".
 *
 * @param {{
 *   title: string, onClose: Call, onSubmit?: () => unknown, children?: any, footer?: any,
 * }} props
 */
export function Dialog({ title, onClose, onSubmit, children, footer }) {
  const box = useRef(null);
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    box.current.showModal();
    return () => before?.focus?.();
  }, []);
  const content = html`<h2>${title}</h2>
    ${children}
    ${footer && html`<div class="dialog-foot">${footer}</div>`}`;
  /** @param {Event} event */
  function submit(event) {
    event.preventDefault();
    onSubmit?.();
  }
  return html`<dialog ref=${box} aria-label=${title} onClose=${onClose}
      onClick=${(event) => event.target === box.current && onClose()}>
    ${
      onSubmit
        ? html`<form class="stack" onSubmit=${submit}>${content}</form>`
        : html`<div class="stack">${content}</div>`
    }
  </dialog>`;
}

/**
 * A dialog before a change: `onConfirm` returns a promise, whose error the dialog shows. `word`:
 * the word that the user types first, for changes that cannot be undone.
 */
export function Confirm({ title, children, action, danger = false, word, onConfirm, onClose }) {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  async function confirm() {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (failure) {
      setError(failure.message);
      setBusy(false);
    }
  }
  const isReady = !busy && (!word || typed === word);
  return html`<${Dialog} title=${title} onClose=${onClose}
      onSubmit=${() => isReady && confirm()} footer=${[
        html`<${Button} onClick=${onClose}>Cancel<//>`,
        html`<${Button} type="submit" kind=${danger ? "danger" : "primary"}
            disabled=${!isReady}>${action}<//>`,
      ]}>
    <div class="stack">${children}</div>
    ${
      word &&
      html`<${Field} label=${`Type ${word} to confirm`}>
        <input value=${typed} onInput=${(event) => setTyped(event.target.value)}
            autocomplete="off" />
      <//>`
    }
    ${error && html`<div class="error-line" role="alert">${error}</div>`}
  <//>`;
}
