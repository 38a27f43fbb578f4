// @ts-check
// The note of a page whose figures are older than its error.

import { html } from "../vendor/preact.js";
import { Note } from "./page.js";
import { time } from "./words.js";

/**
 * A note with the time of the last answer, while requests fail.
 *
 * @param {{ got: Api.Got<any> }} props
 */
export function AsOf({ got }) {
  if (!got.error || !got.at) return null;
  return html`<${Note} kind="warn">
    The figures below are of ${time(got.at, { millis: false })}, the last answer.
  <//>`;
}
