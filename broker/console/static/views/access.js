import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Access() {
  return html`<${Page} title="Access"><${Empty} title="Not built yet" /><//>`;
}
