import assert from "node:assert/strict";
import { test } from "node:test";

import { piecesOf } from "../../../../console/static/parts/text.js";

for (const emoji of ["👩‍👩‍👧‍👦", "❤️‍🔥", "👩🏽‍🚀", "🏴‍☠️", "🏳️‍🌈", "👨‍🦰", "😀"])
  test(`an emoji stays whole: ${emoji}`, () => {
    assert.deepEqual(piecesOf(emoji), [emoji]);
    assert.deepEqual(piecesOf(`\0${emoji}x`), [0, `${emoji}x`]);
  });

test("a joiner outside of emoji is shown by its number", () => {
  assert.deepEqual(piecesOf("a\u200db"), ["a", 0x200d, "b"]);
  assert.deepEqual(piecesOf("👩\u200d"), ["👩", 0x200d]);
  assert.deepEqual(piecesOf("👩\u200da"), ["👩", 0x200d, "a"]);
});

test("controls, marks of direction and halves of characters are shown by their number", () => {
  assert.deepEqual(piecesOf("a\r\n\t\u202eb\ud800"), ["a", 0x0d, "\n\t", 0x202e, "b", 0xd800]);
  assert.deepEqual(piecesOf("plain ünïcode 東京"), ["plain ünïcode 東京"]);
  assert.deepEqual(piecesOf(""), [""]);
});
