// @ts-check
// The browser's address as state: changes of it, and values in its query. links.js makes addresses.

import { useCallback, useEffect, useState } from "./vendor/preact.js";
import * as links from "./links.js";

/**
 * Show a view, with a new entry in the browser's history.
 *
 * @param {string} link
 */
export function goTo(link) {
  location.hash = link;
}

/**
 * Show the same view in another state, without a new entry in the browser's history.
 *
 * @param {string} link
 */
export function replaceWith(link) {
  try {
    history.replaceState(null, "", link);
  } catch {
    return; // a browser limits such changes to some 100 in half a minute
  }
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/**
 * A text of a view that stands in the query of the address, so that Back and a reload show the
 * same.
 * Return it and a function that sets it. `name` null: the text is only kept by the view.
 *
 * @param {string | null} name
 * @param {string} [fallback] the text that is left out of the address
 * @returns {[string, (next: string) => void]}
 */
export function useAddressState(name, fallback = "") {
  const inAddress = name === null ? fallback : (links.queryOf(location.hash)[name] ?? fallback);
  const [text, setText] = useState(inAddress);
  useEffect(() => {
    if (name !== null) setText(inAddress);
  }, [inAddress]);
  const set = useCallback(
    (/** @type {string} */ next) => {
      setText(next);
      if (name !== null)
        replaceWith(links.withQuery(location.hash, { [name]: next === fallback ? null : next }));
    },
    [name, fallback],
  );
  return [text, set];
}

/**
 * The same for what is on or off: in the address it is 1 or 0.
 *
 * @param {string} name
 * @param {boolean} [fallback]
 * @returns {[boolean, (next: boolean) => void]}
 */
export function useAddressFlag(name, fallback = false) {
  const [text, setText] = useAddressState(name, fallback ? "1" : "0");
  return [text === "1", (next) => setText(next ? "1" : "0")];
}

const OPEN_MAX = 20;

/**
 * The ids of what is open in a list, in the query of the address: the last ones, so many at most.
 * Return their set, and a function that opens or closes an id.
 *
 * @param {string} name
 * @returns {[Set<string>, (id: string) => void]}
 */
export function useAddressSet(name) {
  const [text, setText] = useAddressState(name);
  const turn = useCallback(
    (/** @type {string} */ id) => {
      const ids = idsOf(links.queryOf(location.hash)[name] ?? "");
      const others = ids.filter((other) => other !== id);
      setText((others.length < ids.length ? others : [...ids, id]).slice(-OPEN_MAX).join(","));
    },
    [setText],
  );
  return [new Set(idsOf(text)), turn];
}

/** @param {string} text */
function idsOf(text) {
  return text.split(",").filter(Boolean);
}
