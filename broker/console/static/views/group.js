import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Group() {
  return html`<${Page} title="Group"><${Empty} title="Not built yet" /><//>`;
}
