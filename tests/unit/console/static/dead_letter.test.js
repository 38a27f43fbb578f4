// The origin of a dead letter in its headers, and the filter that finds the letters of a group.

import { test } from "node:test";
import assert from "node:assert/strict";
import { lettersOf, originOf } from "../../../../console/static/views/dead_letter.js";

const header = (name, text) => [`__dlq.errors.${name}`, { size: text.length, text }];
const place = [header("topic", "jobs"), header("partition", "1"), header("offset", "42")];

test("the headers of a dead letter name the record, the group and the reason", () => {
  const others = [header("group", "g"), header("delivery.count", "5"), header("message", "bad")];
  assert.deepEqual(originOf([["k", null], ...place, ...others]), {
    topic: "jobs",
    partition: 1,
    offset: 42,
    group: "g",
    deliveries: "5",
    reason: "bad",
  });
  assert.equal(originOf(place)?.group, null);
});

test("a record without a whole place is no dead letter", () => {
  assert.equal(originOf([]), null);
  for (const missing of place) assert.equal(originOf(place.filter((one) => one !== missing)), null);
  assert.equal(originOf([...place, header("offset", "-1")]), null);
  assert.equal(originOf([...place, header("partition", "x")]), null);
  assert.equal(originOf([...place.slice(1), ["__dlq.errors.topic", null]]), null);
});

test("a group's name is quoted in the filter", () => {
  assert.deepEqual(lettersOf('a"b'), { filter: 'headers["__dlq.errors.group"] == "a\\"b"' });
});
