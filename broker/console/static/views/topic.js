import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Topic() {
  return html`<${Page} title="Topic"><${Empty} title="Not built yet" /><//>`;
}
