import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Quorum() {
  return html`<${Page} title="Quorum"><${Empty} title="Not built yet" /><//>`;
}
