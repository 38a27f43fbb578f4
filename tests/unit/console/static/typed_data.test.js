import assert from "node:assert/strict";
import { test } from "node:test";

import { inForm, membersOf, typedOf } from "../../../../console/static/views/typed_data.js";

test("text that a field keeps is typed as it is", () => {
  const typed = typedOf({ size: 4, text: "a\n\\b" });
  assert.deepEqual(typed, { form: "text", text: "a\n\\b", isNull: false });
  assert.deepEqual(membersOf("value", typed), { value: "a\n\\b" });
});

for (const text of ["a\r\nb\rc", "\\r\r", "\0\u007f\r", "a\r\n\tb"])
  test(`text that a field alters is typed with escapes: ${JSON.stringify(text)}`, () => {
    const typed = typedOf({ size: 1, text });
    assert.equal(typed.form, "escaped");
    assert.ok(!/[\r\0]/.test(typed.text));
    assert.deepEqual(membersOf("value", typed), { value: text });
    const edited = { ...typed, text: `${typed.text}!` };
    assert.deepEqual(membersOf("value", edited), { value: `${text}!` });
    assert.deepEqual(membersOf("value", inForm(typed, "base64")), {
      value_base64: btoa(text),
    });
    assert.deepEqual(membersOf("value", inForm(inForm(typed, "base64"), "escaped")), {
      value: text,
    });
  });

test("a field of one line has escapes for line ends, too", () => {
  const typed = typedOf({ size: 3, text: "a\nb" }, { isLine: true });
  assert.deepEqual(typed, { form: "escaped", text: "a\\nb", isNull: false });
  assert.deepEqual(membersOf("value", typed), { value: "a\nb" });
});

test("null, empty and bytes are different things", () => {
  assert.deepEqual(membersOf("key", typedOf(null)), {});
  assert.deepEqual(membersOf("key", typedOf({ size: 0, text: "" })), { key: "" });
  assert.deepEqual(membersOf("key", typedOf({ size: 2, base64: "/wA=" })), { key_base64: "/wA=" });
});

test("what is typed wrongly is said", () => {
  const typed = { form: /** @type {const} */ ("escaped"), text: "C:\\dir", isNull: false };
  assert.throws(() => membersOf("value", typed), { message: /^\\d is no escape/ });
  assert.throws(() => membersOf("value", { ...typed, text: "end\\" }), /is no escape/);
  const bytes = typedOf({ size: 2, base64: "/wA=" });
  assert.throws(() => inForm(bytes, "text"), /not UTF-8/);
  assert.throws(() => inForm({ ...bytes, text: "?" }, "text"), /not base64/);
});
