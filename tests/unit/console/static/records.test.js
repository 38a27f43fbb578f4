import assert from "node:assert/strict";
import { test } from "node:test";

import { bytesOf, jsonOf } from "../../../../console/static/views/record/values.js";
import { pairs } from "../../../../console/static/views/topics.js";

test("bytes come as text or as base64", () => {
  assert.deepEqual([...bytesOf({ text: "aé" })], [0x61, 0xc3, 0xa9]);
  assert.deepEqual([...bytesOf({ base64: "AP8=" })], [0, 255]);
});

test("only whole objects and lists are shown as JSON", () => {
  assert.deepEqual(jsonOf({ text: ' {"a": [1]}' }), { a: [1] });
  for (const data of [null, { base64: "e30=" }, { text: "17" }, { text: "{" }])
    assert.equal(jsonOf(data), undefined);
  assert.equal(jsonOf({ text: "[1, 2", cut: true }), undefined);
});

test("whole numbers stay exact, however large", () => {
  assert.deepEqual(jsonOf({ text: "[9007199254740993, 1.5]" }), [9007199254740993n, 1.5]);
});

test("configs are lines of KEY=VALUE", () => {
  assert.deepEqual(pairs("\n a = b=c \n\nretention.ms=1\n"), { a: "b=c", "retention.ms": "1" });
  assert.deepEqual(pairs(""), {});
  assert.throws(() => pairs("a=b\n=c"), { message: "=c: write each config as KEY=VALUE" });
});
