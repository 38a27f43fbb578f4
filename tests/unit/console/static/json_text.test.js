import assert from "node:assert/strict";
import { test } from "node:test";

import { VALUES_MAX, parseJson } from "../../../../console/static/parts/json_text.js";
import { jsonOf } from "../../../../console/static/views/record/values.js";

/** The node as a text, in which each leaf is its kind and its text. */
function said(node) {
  if (node.kind === "array") return node.items.map(said);
  if (node.kind === "object")
    return node.members.map(({ name, value, repeated }) => [
      repeated ? `${name} (repeated)` : name,
      said(value),
    ]);
  return node.kind === "string" ? JSON.stringify(node.text) : node.text;
}

function parsed(text) {
  const node = parseJson(text);
  return node && said(node);
}

for (const number of [
  "0.1000000000000000055",
  "1e400",
  "-0.0",
  "1.10",
  "100000000000000000000.5",
  "9007199254740993",
  "-12E-07",
])
  test(`a number keeps its digits: ${number}`, () => {
    assert.deepEqual(parsed(`{"n": [${number}, ${number}]}`), [["n", [number, number]]]);
  });

test("keys keep their order, also those that look like numbers", () => {
  assert.deepEqual(parsed('{"10":1,"2":2,"b":3,"__proto__":4}'), [
    ["10", "1"],
    ["2", "2"],
    ["b", "3"],
    ["__proto__", "4"],
  ]);
});

test("each of the members with one name is there, and marked", () => {
  assert.deepEqual(parsed('{"a":1,"b":{"a":3},"a":2}'), [
    ["a (repeated)", "1"],
    ["b", [["a", "3"]]],
    ["a (repeated)", "2"],
  ]);
});

test("escapes are the characters that they mean, and half a character stays an escape", () => {
  assert.deepEqual(
    parsed(String.raw`["\u6771\u4eac", "\ud83d\ude00", "a\\\"b\/", "\ud800x", "\u0001"]`),
    ['"東京"', '"😀"', String.raw`"a\\\"b/"`, String.raw`"\ud800x"`, String.raw`"\u0001"`],
  );
});

test("literals, space and Python's numbers that JSON lacks", () => {
  assert.deepEqual(parsed(" [ true,\tfalse,\r\nnull, NaN, -Infinity, {}, [] ] "), [
    "true",
    "false",
    "null",
    "NaN",
    "-Infinity",
    [],
    [],
  ]);
});

for (const text of [
  "",
  "[1,]",
  "[,1]",
  "[1 2]",
  '{"a" 1}',
  '{"a":1,}',
  "{a:1}",
  "{,}",
  "[1]]",
  "[1",
  '{"a":',
  '"a',
  String.raw`"\"`,
  String.raw`["\x"]`,
  '["a\nb"]',
  "[01]",
  "[1.]",
  "[+1]",
  "[.5]",
  "[tru]",
  "[1}",
])
  test(`no JSON: ${JSON.stringify(text)}`, () => assert.equal(parseJson(text), undefined));

test("deep nesting is parsed", () => {
  let node = parseJson("[".repeat(200_000) + "]".repeat(200_000));
  let depth = 0;
  for (; node; node = node.items[0]) depth += 1;
  assert.equal(depth, 200_000);
  assert.equal(parseJson("[".repeat(200_000)), undefined);
});

test("long strings are parsed, very many values are not", () => {
  const text = `${"x\\\\".repeat(500_000)}\\"`;
  assert.equal(parseJson(`["${text}"]`).items[0].text.length, 1_000_001);
  assert.notEqual(parseJson(`[${"0,".repeat(VALUES_MAX - 2)}0]`), undefined);
  assert.equal(parseJson(`[${"0,".repeat(VALUES_MAX)}0]`), undefined);
});

test("only whole objects and lists are shown as JSON", () => {
  assert.deepEqual(said(jsonOf({ text: ' {"a": [1]}' })), [["a", ["1"]]]);
  for (const data of [null, { base64: "e30=" }, { text: "17" }, { text: "{" }])
    assert.equal(jsonOf(data), undefined);
  assert.equal(jsonOf({ text: "[1, 2", cut: true }), undefined);
});
