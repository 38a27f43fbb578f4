// @ts-check
// The texts that a search matched, which `Text` marks wherever it shows them.

import { createContext } from "../vendor/preact.js";

/** The texts to mark in all of `<${Marks.Provider} value=${texts}>`. */
export const Marks = createContext(/** @type {string[]} */ ([]));

/**
 * Split a text into the parts that are marked and those that are not.
 *
 * @param {string} text
 * @param {string[]} marks
 * @returns {{ text: string, isMarked: boolean }[]}
 */
export function markedParts(text, marks) {
  if (marks.length === 0) return [{ text, isMarked: false }];
  const longestFirst = [...marks].sort((first, second) => second.length - first.length);
  const sought = new RegExp(`(${longestFirst.map(escaped).join("|")})`, "u");
  return text
    .split(sought)
    .map((part, at) => ({ text: part, isMarked: at % 2 === 1 }))
    .filter((part) => part.text !== "");
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
