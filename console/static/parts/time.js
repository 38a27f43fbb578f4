// @ts-check
// A time in a page.

import { html } from "../vendor/preact.js";
import { ago, fullTime, time } from "./words.js";

/**
 * A time in the browser's zone, whose tooltip has the form of ISO 8601 with the zone, and how long
 * ago that is. `ms`: milliseconds since 1970. `day`, `millis`: whether these parts are shown.
 *
 * @param {{ ms: number | null | undefined, day?: boolean, millis?: boolean }} props
 */
export function Time({ ms, day = true, millis = true }) {
  const full = fullTime(ms);
  if (full === undefined) return time(ms);
  return html`<time class="nowrap" datetime=${full} title="${full}, ${ago(ms)}">
    ${time(ms, { day, millis })}
  </time>`;
}
