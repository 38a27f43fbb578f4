import assert from "node:assert/strict";
import { test } from "node:test";

import { unledWords } from "../../../../console/static/views/messages/unled.js";

test("partitions without a leader are named", () => {
  assert.match(unledWords([3]), /^Partition 3 has no leader, so its records/);
  assert.match(unledWords([1, 4]), /^Partitions 1, 4 have no leader, so their records/);
  assert.match(unledWords([...Array(40).keys()]), /^40 partitions have no leader/);
});
