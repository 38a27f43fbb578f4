// @ts-check
// Changes of the browser's address. links.js makes the addresses.

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
  history.replaceState(null, "", link);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
