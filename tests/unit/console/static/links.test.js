import assert from "node:assert/strict";
import { test } from "node:test";

import * as links from "../../../../console/static/links.js";
import { SECTIONS, viewAt } from "../../../../console/static/routes.js";
import { Group } from "../../../../console/static/views/group.js";
import { Messages } from "../../../../console/static/views/messages.js";
import { formOf } from "../../../../console/static/views/messages/query.js";
import { Segments } from "../../../../console/static/views/segments.js";
import { Topic } from "../../../../console/static/views/topic.js";

const STRANGE = "a b/c?d#e%f";

for (const [link, view, params] of [
  [links.topic(STRANGE), Topic, { topic: STRANGE, q: {} }],
  [
    links.messages(STRANGE, { q: "x&y", live: null }),
    Messages,
    { topic: STRANGE, q: { q: "x&y" } },
  ],
  [links.group(STRANGE), Group, { group: STRANGE, q: {} }],
  [
    links.partitionSegments(STRANGE, 3, { dir: "1", tab: null, at: 61 }),
    Segments,
    { topic: STRANGE, partition: "3", q: { dir: "1", at: "61" } },
  ],
])
  test(`a link leads to its view: ${link}`, () => {
    const shown = viewAt(link);
    assert.equal(shown.view, view);
    assert.deepEqual(shown.params, params);
  });

test("each item of the navigation has a view", () => {
  for (const [link] of SECTIONS.flatMap(([, items]) => items)) assert.ok(viewAt(link).view, link);
});

test("a list of records begins where its link says", () => {
  const { params } = viewAt(links.recordsFrom("a b", 3, 17));
  const form = formOf(params.q);
  assert.deepEqual([params.topic, form.partition], ["a b", "3"]);
  assert.deepEqual([form.place, form.offset, form.earlier], ["offset", "17", false]);
  assert.equal(formOf(viewAt(links.recordsFrom("t", 0, 0)).params.q).offset, "0");
  assert.equal(formOf(viewAt(links.recordsFrom("t", 0, null)).params.q).place, "oldest");
});
