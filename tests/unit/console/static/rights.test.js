import assert from "node:assert/strict";
import { test } from "node:test";

import { denied } from "../../../../console/static/rights.js";

test("an operation that the login may not do has a reason", () => {
  assert.equal(
    denied(["READ"], "ALTER_CONFIGS", "topic"),
    "The console's login needs AlterConfigs on this topic",
  );
  assert.equal(denied([], "ALTER", "cluster"), "The console's login needs Alter on the cluster");
  assert.equal(denied(["ALTER"], "ALTER", "cluster"), undefined);
  assert.equal(denied(null, "ALTER", "group"), undefined, "the cluster does not report them");
  assert.equal(denied(undefined, "ALTER", "group"), undefined, "there is no answer yet");
});
