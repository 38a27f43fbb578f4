import assert from "node:assert/strict";
import { test } from "node:test";

import { path } from "../../../../console/static/api.js";
import * as links from "../../../../console/static/links.js";
import { viewAt } from "../../../../console/static/routes.js";
import { Messages } from "../../../../console/static/views/messages.js";
import { Overview } from "../../../../console/static/views/overview.js";

test("a path has its parameters encoded, and a query without what is not there", () => {
  assert.equal(path("/api/topics"), "/api/topics");
  assert.equal(path("/api/topics/{}", "a/b?"), "/api/topics/a%2Fb%3F");
  const query = { from: 0, q: "a b", cursor: null, parts: "", to: undefined };
  assert.equal(
    path("/api/topics/{}/messages/{}", "t", 3, query),
    "/api/topics/t/messages/3?from=0&q=a+b",
  );
});

test("an address finds its view", () => {
  assert.equal(viewAt("").view, Overview);
  assert.equal(viewAt("#/").view, Overview);
  const { view, params } = viewAt("#/topics/a%2Fb/messages?from=3&order=oldest");
  assert.equal(view, Messages);
  assert.deepEqual(params, { topic: "a/b", q: { from: "3", order: "oldest" } });
});

test("a query does not make another page of it", () => {
  assert.equal(viewAt("#/topics/t?q=1").key, viewAt("#/topics/t?q=2").key);
  assert.notEqual(viewAt("#/topics/t").key, viewAt("#/topics/u").key);
});

test("there is no view for what is no address", () => {
  for (const hash of ["#/nothing", "#/topics/t/messages/more", "#/topics/%E0%A4%A", "#/topics/"])
    assert.equal(viewAt(hash).view, null);
});

test("an address belongs to an item of the navigation", () => {
  assert.equal(links.sectionOf(""), links.overview());
  assert.equal(links.sectionOf("#/?x=1"), links.overview());
  assert.equal(links.sectionOf("#/topics/t/messages?q=1"), links.topics());
});

test("a value in the query is changed, and the others stay", () => {
  assert.equal(
    links.withQuery("#/topics?filter=a", { sort: "-Size" }),
    "#/topics?filter=a&sort=-Size",
  );
  assert.equal(links.withQuery("#/topics/a%2Fb?filter=a", { filter: null }), "#/topics/a%2Fb");
  assert.equal(links.withQuery("", { q: "x" }), "#/?q=x");
  assert.deepEqual(links.queryOf("#/t?q=a%3Fb&open=1%3A2"), { q: "a?b", open: "1:2" });
});
