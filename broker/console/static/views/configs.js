import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Configs() {
  return html`<${Page} title="Configs"><${Empty} title="Not built yet" /><//>`;
}
