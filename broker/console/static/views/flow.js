import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Flow() {
  return html`<${Page} title="Flow"><${Empty} title="Not built yet" /><//>`;
}
