// @ts-check
// The note about partitions that cannot be read now, because they have no leader.

import { html } from "../../vendor/preact.js";
import { Button, Note, plural } from "../../parts/index.js";

const NAMED = 10;

/** @param {{ partitions: number[], onAgain: Call }} props */
export function Unled({ partitions, onAgain }) {
  if (!partitions.length) return null;
  return html`<${Note} kind="warn">
    ${unledWords(partitions)} <${Button} onClick=${onAgain}>Try again<//>
  <//>`;
}

/** @param {number[]} partitions */
export function unledWords(partitions) {
  const [one] = partitions;
  if (partitions.length === 1)
    return `Partition ${one} has no leader, so its records cannot be read now.`;
  const names =
    partitions.length > NAMED
      ? plural(partitions.length, "partition")
      : `Partitions ${partitions.join(", ")}`;
  return `${names} have no leader, so their records cannot be read now.`;
}
