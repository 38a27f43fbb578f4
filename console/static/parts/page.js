// @ts-check
// The frame of a page, and its panels, tiles, badges and messages.

import { html, useEffect } from "../vendor/preact.js";

/** A page: `title`, `about` in a sentence, `crumbs` [[name, href]…], `actions`. */
export function Page({ title, about, crumbs = [], actions, children }) {
  useEffect(() => {
    document.title = `${title} · Ottla`;
  }, [title]);
  return html`<div class="page">
    <div class="page-head">
      <div>
        ${
          crumbs.length > 0 &&
          html`<nav class="crumbs" aria-label="Breadcrumbs">
            ${crumbs.map(([name, href]) => html`<a href=${href}>${name}</a> / `)}
          </nav>`
        }
        <h1 id="title" tabindex="-1">${title}</h1>
        ${about && html`<p class="about">${about}</p>`}
      </div>
      ${actions && html`<div class="row">${actions}</div>`}
    </div>
    ${children}
  </div>`;
}

/** A box with a title and actions. `inside` false: the content has no padding. */
export function Panel({ title, actions, inside = true, children, label }) {
  return html`<section class="panel" aria-label=${label ?? title}>
    ${
      (title || actions) &&
      html`<header><h2>${title}</h2><div class="row">${actions}</div></header>`
    }
    ${inside ? html`<div class="inside">${children}</div>` : children}
  </section>`;
}

export function Tiles({ children }) {
  return html`<div class="tiles">${children}</div>`;
}

/** A figure with a `label`, a `unit`, and a line `below` it. */
export function Tile({ label, value, unit, below, children }) {
  return html`<div class="tile">
    <div class="label">${label}</div>
    <div class="value">${value}${unit && html`<span class="unit">${unit}</span>`}</div>
    ${below && html`<div class="below">${below}</div>`}
    ${children}
  </div>`;
}

/** A word in a colour. `kind`: good, warn, bad, info, violet, or none. */
export function Badge({ kind = "", plain = false, title, children }) {
  const look = plain ? "plain" : "";
  return html`<span class="badge ${kind} ${look}" title=${title}>${children}</span>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty">
    <b>${title}</b>
    ${children && html`<span>${children}</span>`}
  </div>`;
}

/**
 * The text of an error, if there is an error. `onAgain`: what *Try again* calls.
 *
 * @param {{ error: any, onAgain?: Call, children?: any }} props
 */
export function ErrorLine({ error, onAgain, children }) {
  if (!error) return null;
  return html`<div class="error-line" role="alert">
    <span>${error}</span>
    ${onAgain && html`<button type="button" onClick=${() => onAgain()}>Try again</button>`}
    ${children}
  </div>`;
}

export function Note({ kind = "", children }) {
  return html`<p class="note ${kind}">${children}</p>`;
}

export function Waiting({ what = "Waiting for the cluster" }) {
  return html`<div role="status">
    <div class="wait"></div>
    <span class="hidden-text">${what}</span>
  </div>`;
}
