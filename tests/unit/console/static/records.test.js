import assert from "node:assert/strict";
import { test } from "node:test";

import { bytesOf, formsOf, wholeNumberOf } from "../../../../console/static/views/record/values.js";
import { pairs } from "../../../../console/static/views/topics.js";

test("bytes come as text or as base64", () => {
  assert.deepEqual([...bytesOf({ text: "aé" })], [0x61, 0xc3, 0xa9]);
  assert.deepEqual([...bytesOf({ base64: "AP8=" })], [0, 255]);
});

test("configs are lines of KEY=VALUE", () => {
  assert.deepEqual(pairs("\n a = b=c \n\nretention.ms=1\n"), { a: "b=c", "retention.ms": "1" });
  assert.deepEqual(pairs(""), {});
  assert.throws(() => pairs("a=b\n=c"), { message: "=c: write each config as KEY=VALUE" });
});

test("bytes that look like a number are shown as bytes first, and as the number", () => {
  assert.deepEqual(formsOf({ size: 4, text: "\0\0\0\x07" }, false), ["hex", "text"]);
  assert.deepEqual(formsOf({ size: 4, text: "\t\0b\n" }, false), ["hex", "text"]);
  assert.deepEqual(formsOf({ size: 4, text: "a\tb\n" }, false), ["text", "hex"]);
  assert.deepEqual(formsOf({ size: 5, text: "\0abcd" }, false), ["text", "hex"]);
  assert.deepEqual(formsOf({ size: 2, base64: "AP8=" }, false), ["hex"]);
  assert.deepEqual(formsOf({ size: 2, text: "{}" }, true), ["json", "text", "hex"]);
  assert.equal(wholeNumberOf(Uint8Array.of(255, 255, 255, 254)), -2);
  assert.equal(
    wholeNumberOf(Uint8Array.of(9, 0, 0x20, 0, 0, 0, 0, 0, 1).subarray(1)),
    2n ** 53n + 1n,
  );
  assert.equal(wholeNumberOf(Uint8Array.of(1)), undefined);
});
