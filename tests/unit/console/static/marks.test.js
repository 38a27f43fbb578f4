import assert from "node:assert/strict";
import { test } from "node:test";

import { markedParts } from "../../../../console/static/parts/marks.js";

/** A text with its marked parts in brackets. */
function bracketed(text, marks) {
  return markedParts(text, marks)
    .map((part) => (part.isMarked ? `[${part.text}]` : part.text))
    .join("");
}

for (const [text, marks, expected] of [
  ["PAID and paid", ["PAID", "paid"], "[PAID] and [paid]"],
  ["PAID", [], "PAID"],
  ["aXa", ["a"], "[a]X[a]"],
  ["orders and order", ["order", "orders"], "[orders] and [order]"],
  ["a.b a+b (a)", ["a.b", "(a)"], "[a.b] a+b [(a)]"],
  ["a-b/c\\d", ["-", "/", "\\"], "a[-]b[/]c[\\]d"],
  ["東京 😀", ["京", "😀"], "東[京] [😀]"],
  ["", ["a"], ""],
])
  test(`marks in ${text}: ${marks}`, () => assert.equal(bracketed(text, marks), expected));
