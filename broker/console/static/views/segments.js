import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Segments() {
  return html`<${Page} title="Segments"><${Empty} title="Not built yet" /><//>`;
}
