import assert from "node:assert/strict";
import { test } from "node:test";

import {
  kcatCommand,
  produceCommand,
  quoted,
} from "../../../../console/static/views/record/commands.js";

const PLACE = '"topic": "t", "partition": 2, "offset": 7, "timestamp": 5';

function kcat(members) {
  return kcatCommand(`{${PLACE}, ${members}}`, "b:9092");
}

test("words of a shell are quoted if they must be", () => {
  assert.equal(quoted("a-b_c.d:9092"), "a-b_c.d:9092");
  assert.equal(quoted(""), "''");
  assert.equal(quoted('it\'s $(x) `y` "z"'), String.raw`'it'\''s $(x) ${"`y`"} "z"'`);
});

test("a line of JSON is piped into ottla produce as it is", () => {
  const line = `{${PLACE}, "key": "it's", "value": null}`;
  assert.equal(
    produceCommand(line, "b:9092"),
    String.raw`printf '%s\n' '{${PLACE}, "key": "it'\''s", "value": null}' | ` +
      "ottla produce t --json -p 2 -b b:9092",
  );
});

test("kcat gets key and value with delimiters behind them", () => {
  assert.equal(
    kcat('"key": "k", "value": "50%\\nit\'s"'),
    String.raw`printf -- 'k\03750%%\012it\047s\036' | ` +
      String.raw`kcat -P -b b:9092 -t t -p 2 -K '\x1f' -D '\x1e'`,
  );
  assert.match(kcat('"key": null, "value": "v"'), /^printf -- 'v\\036' \| .* -D '\\x1e'$/);
  assert.match(kcat('"key": "k", "value": null'), /^printf -- 'k\\037\\036' .* -Z$/);
  assert.match(kcat('"key": null, "value": null'), /^printf -- '\\037\\036' .* -Z$/);
  assert.match(kcat('"key": "", "value": ""'), /^printf -- '\\037\\036' .*x1e'$/);
});

test("bytes that are no text, and delimiters that are in the record", () => {
  assert.match(kcat('"key_base64": "AP8=", "value": "v"'), /^printf -- '\\000\\377\\037v\\036'/);
  assert.match(kcat('"key": "\\u001f", "value": "\\u001d"'), /^printf -- '\\037\\036\\035\\034'/);
});

test("a pasted command has no key that a terminal obeys", () => {
  const erased = "\x7f".repeat(3);
  const line = `{${PLACE}, "key": "x${erased}touch canary #", "value": "\u009b\u202e"}`;
  const command = produceCommand(line, "b:9092");
  assert.match(command, /"x\\u007f\\u007f\\u007ftouch canary #", "value": "\\u009b\\u202e"/);
  const header = '"headers": [{"key": "a\\u0015touch canary;#", "value": "it\'s\\u001b[201~\\n"}]';
  const typed = kcat(`"key": "-Z\\u0085", "value": "\\t", ${header}`);
  assert.match(typed, /^printf -- '-Z\\302\\205\\037\\011\\036' /);
  assert.ok(typed.endsWith(String.raw` -H $'a\x15touch canary;#=it\'s\x1b[201~\x0a'`));
  for (const pasted of [command, typed])
    // oxlint-disable-next-line no-control-regex -- none is to be there
    assert.doesNotMatch(pasted, /[\0-\x1f\x7f-\x9f\u2028-\u202e]/);
});

test("headers are words, null ones without a value", () => {
  const headers = '"headers": [{"key": "a b", "value": "c"}, {"key": "n", "value": null}, ';
  assert.match(
    kcat(`"key": "k", "value": "v", ${headers}{"key": "x", "value_base64": "/wE="}]`),
    / -H 'a b=c' -H n -H x=\$'\\xff\\x01'$/,
  );
});

for (const [members, reason] of [
  ['"key": null, "value": ""', /empty value without a key/],
  ['"key": "", "value": null', /null value with an empty key/],
  ['"key": "k", "value": "v", "headers": [{"key": "", "value": "v"}]', /with the name ""/],
  ['"key": "k", "value": "v", "headers": [{"key": "a=b", "value": "v"}]', /with the name "a=b"/],
  ['"key": "k", "value": "v", "headers": [{"key": "a", "value": "\\u0000"}]', /zero byte/],
])
  test(`kcat cannot write this record: ${members}`, () => {
    assert.throws(() => kcat(members), reason);
  });
