import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Overview() {
  return html`<${Page} title="Overview"><${Empty} title="Not built yet" /><//>`;
}
