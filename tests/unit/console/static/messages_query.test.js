import assert from "node:assert/strict";
import { test } from "node:test";

import {
  formOf,
  queryOf,
  searchOf,
  title,
} from "../../../../console/static/views/messages/query.js";

/** A query without what the address leaves out. */
function asked(form) {
  return Object.fromEntries(
    Object.entries(queryOf(form)).filter(([, value]) => value !== null && value !== ""),
  );
}

test("an address without a query shows the newest", () => {
  const form = formOf({});
  assert.equal(form.place, "newest");
  assert.deepEqual(asked(form), {});
});

for (const q of [
  { order: "oldest" },
  { from: "17", order: "oldest" },
  { from: "17", order: "newest" },
  { from: "@5m", order: "oldest" },
  { partition: "3", order: "oldest" },
  { q: "error", regex: "1", case: "1", parts: "key", finds: "oldest" },
  { live: "1", partition: "2" },
  { uncommitted: "1" },
  { filter: "offset > 3", finds: "oldest" },
  { q: "error", filter: "offset > 3" },
  { partition: "0,3-5" },
  { from: "@1764144000000", to: "@1764147600000", order: "oldest" },
])
  test(`the form says what the address said: ${new URLSearchParams(q)}`, () => {
    const again = asked(formOf(q));
    assert.deepEqual(
      Object.fromEntries(Object.entries(again).map(([key, value]) => [key, String(value)])),
      q,
    );
  });

test("a moment stays the same in every zone", () => {
  const at = new Date(2026, 5, 1, 12, 30, 15).getTime();
  const form = formOf({ from: `@${at}`, order: "oldest" });
  assert.equal(form.place, "time");
  assert.equal(form.moment, "2026-06-01T12:30:15");
  assert.equal(queryOf(form).from, `@${at}`);
});

test("several partitions are a choice of their own", () => {
  assert.equal(formOf({ partition: "0,3-5" }).several, true);
  assert.equal(formOf({ partition: "3" }).several, false);
  assert.equal(formOf({}).several, false);
});

test("a range has two times", () => {
  const form = formOf({ from: "@1764144000000", to: "@1764147600000", order: "oldest" });
  assert.equal(form.place, "range");
  assert.equal(new Date(form.until).getTime() - new Date(form.moment).getTime(), 3600000);
  assert.equal(queryOf({ ...form, place: "newest" }).to, null);
});

test("a moment that is none is left out", () => {
  const form = formOf({ from: "@never", order: "oldest" });
  assert.deepEqual([form.place, form.moment], ["time", ""]);
  assert.equal(queryOf(form).from, null);
});

test("a live view has the fields of a search", () => {
  const query = queryOf({ ...formOf({ q: "error", regex: "1" }), live: true });
  assert.deepEqual([query.q, query.regex, query.live], ["error", 1, 1]);
  const q = { q: "error", case: "1", parts: "key", filter: "x", from: "3", live: "1" };
  assert.deepEqual(searchOf(q), {
    q: "error",
    regex: undefined,
    case: "1",
    parts: "key",
    filter: "x",
  });
});

test("a page says which records it has", () => {
  assert.equal(title({}, 50, 1234), "The newest 50 of 1,234 offsets");
  assert.equal(title({ order: "oldest" }, 1, 1), "The oldest 1 of 1 offset");
  const from = "17";
  assert.equal(
    title({ from, order: "oldest" }, 2, 9),
    "2 records from the start position, of 9 offsets",
  );
  assert.equal(title({ cursor: "0:3" }, 50, 1234), "50 older records, of 1,234 offsets");
  assert.equal(title({ cursor: "0:3", order: "oldest" }, 5, 9), "5 later records, of 9 offsets");
  assert.equal(title({ from }, 1, 9), "1 record before the start position, of 9 offsets");
});
