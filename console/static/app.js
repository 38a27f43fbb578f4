// @ts-check
// The page's frame: navigation, theme, keys, and the view of the address.

import { html, render, useEffect, useState, useErrorBoundary } from "./vendor/preact.js";
import { goTo } from "./address.js";
import { useGet } from "./api.js";
import * as links from "./links.js";
import { Empty, ErrorLine, Page, zone } from "./parts/index.js";
import { Sign } from "./parts/signs.js";
import { SECTIONS, viewAt } from "./routes.js";

const THEMES = ["system", "light", "dark"];
const KEY_WITHIN_MS = 1200;
const night = matchMedia("(prefers-color-scheme: dark)");

function stored() {
  try {
    return localStorage.getItem("ottla-theme") ?? "system";
  } catch {
    return "system"; // a browser that keeps nothing
  }
}

function showTheme(theme) {
  const dark = theme === "dark" || (theme === "system" && night.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.dispatchEvent(new Event("themechange"));
}

showTheme(stored());

function App() {
  const [hash, setHash] = useState(location.hash);
  const [isOpen, setOpen] = useState(false);
  const about = useGet("/api/about");
  useEffect(() => {
    function moved() {
      setHash(location.hash);
      setOpen(false);
    }
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useKeys();
  const { view, params, key } = viewAt(hash);
  useEffect(() => {
    scrollTo(0, 0);
    if (hash) document.getElementById("title")?.focus({ preventScroll: true });
  }, [key]);
  const here = links.sectionOf(hash);
  return html`<div class="frame">
    <a class="skip" href="#title" onClick=${skip}>Skip to the content</a>
    <${Side} here=${here} isOpen=${isOpen} about=${about.data} />
    <main class="main">
      <${ErrorLine} error=${about.error} onAgain=${about.again} />
      <${Safe} key=${key}>
        ${
          view
            ? html`<${view} params=${params} about=${about.data ?? {}} />`
            : html`<${Page} title="Page not found">
                <${Empty} title="The console has no page at this address">
                  <a href=${links.overview()}>Go to the overview</a>
                <//>
              <//>`
        }
      <//>
    </main>
    <${Bar} here=${here} isOpen=${isOpen} onMore=${() => setOpen(!isOpen)} />
  </div>`;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("title")?.focus();
}

/** A boundary for errors: if a view fails, the rest of the page stays. */
function Safe({ children }) {
  const [error, reset] = useErrorBoundary((failure) => console.error(failure));
  if (!error) return children;
  return html`<${Page} title="This page failed">
    <${ErrorLine} error=${String(error.message ?? error)}>
      <button type="button" onClick=${reset}>Try again</button>
    <//>
  <//>`;
}

/** @param {{ here: string, isOpen: boolean, about: Answer.About | null }} props */
function Side({ here, isOpen, about }) {
  return html`<nav class="side ${isOpen ? "open" : ""}" aria-label="Views" id="views">
    <a class="brand" href=${links.overview()}><img src="icon.svg" alt="" />Ottla</a>
    ${SECTIONS.map(
      ([title, items]) => html`
        <h2>${title}</h2>
        ${items.map(
          ([address, name, sign, letter]) =>
            html`<a class="item" href=${address}
                aria-current=${address === here ? "page" : undefined}
                title="Press g, then ${letter}">
              <${Sign} name=${sign} />
              ${name}
            </a>`,
        )}
      `,
    )}
    <div class="foot">
      ${about && html`<span>${about.bootstrap}${about.writes ? "" : " · read only"}</span>`}
      <span>All times are in ${zone()}</span>
      <${Theme} />
      <button type="button" class="plain" onClick=${logOut}>Log out</button>
    </div>
  </nav>`;
}

/** End the login of this browser, and show the page of the login. */
async function logOut() {
  await fetch("/logout", { method: "POST", body: new URLSearchParams(), redirect: "manual" });
  location.reload();
}

function Theme() {
  const [theme, setTheme] = useState(stored());
  function choose(next) {
    try {
      localStorage.setItem("ottla-theme", next);
    } catch {
      // for this time only
    }
    setTheme(next);
    showTheme(next);
  }
  useEffect(() => {
    const follow = () => showTheme(stored());
    night.addEventListener("change", follow);
    return () => night.removeEventListener("change", follow);
  }, []);
  return html`<label class="field">
    <span class="hidden-text">Colour theme</span>
    <select value=${theme} onChange=${(event) => choose(event.target.value)}>
      ${THEMES.map(
        (one) =>
          html`<option value=${one}>
            ${{ system: "System", light: "Light", dark: "Dark" }[one]}
          </option>`,
      )}
    </select>
  </label>`;
}

/** @param {{ here: string, isOpen: boolean, onMore: Call }} props */
function Bar({ here, isOpen, onMore }) {
  const shown = [
    [links.overview(), "Overview", "overview"],
    [links.topics(), "Topics", "topics"],
    [links.groups(), "Groups", "groups"],
    [links.segments(), "Segments", "segments"],
  ];
  return html`<nav class="bar" aria-label="Main views">
    ${shown.map(
      ([address, name, sign]) =>
        html`<a href=${address} aria-current=${address === here ? "page" : undefined}>
          <${Sign} name=${sign} />
          ${name}
        </a>`,
    )}
    <button type="button" aria-expanded=${isOpen} aria-controls="views" onClick=${onMore}>
      <${Sign} name="more" />More
    </button>
  </nav>`;
}

/** Bind the keys: "/" leads to the search box, "g" and then "t" to the topics. */
function useKeys() {
  useEffect(() => {
    let since = 0;
    function pressed(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
      if (event.key === "/") {
        const box = /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"));
        if (box) {
          event.preventDefault();
          box.focus();
        }
        return;
      }
      if (event.timeStamp - since < KEY_WITHIN_MS) {
        const item = SECTIONS.flatMap(([, items]) => items).find(
          ([, , , letter]) => letter === event.key,
        );
        since = 0;
        if (item) {
          event.preventDefault();
          goTo(item[0]);
        }
        return;
      }
      since = event.key === "g" ? event.timeStamp : 0;
    }
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

render(html`<${App} />`, document.getElementById("app"));
