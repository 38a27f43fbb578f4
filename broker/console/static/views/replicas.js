import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Replicas() {
  return html`<${Page} title="Replicas"><${Empty} title="Not built yet" /><//>`;
}
