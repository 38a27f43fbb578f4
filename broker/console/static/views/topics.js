import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Topics() {
  return html`<${Page} title="Topics"><${Empty} title="Not built yet" /><//>`;
}
