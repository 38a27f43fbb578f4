import assert from "node:assert/strict";
import { test } from "node:test";

import { inWords } from "../../../../console/static/views/config_words.js";

for (const [key, value, words] of [
  ["retention.ms", "604800000", "7 d"],
  ["retention.ms", "-1", "no limit"],
  ["retention.ms", "1", null],
  ["quota.window.size.seconds", "1", null],
  ["segment.bytes", "1073741824", "1 GiB"],
  ["retention.bytes", "-1", "no limit"],
  ["segment.bytes", "100", null],
  ["log.retention.hours", "168", "7 d"],
  ["offsets.retention.minutes", "10080", "7 d"],
  ["file.delete.delay.ms", "60000", "1 min"],
  ["flush.messages", "9223372036854775807", "the largest number"],
  ["message.max.bytes", "1048588", "1.00 MiB"],
  ["num.partitions", "3", null],
  ["queued.max.requests", "20000", "20,000"],
  ["leader.imbalance", "-1", null],
  ["cleanup.policy", "delete", null],
  ["min.cleanable.dirty.ratio", "0.5", null],
  ["retention.ms", null, null],
])
  test(`${key}=${value} is ${words ?? "as it is"}`, () => assert.equal(inWords(key, value), words));
