import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Groups() {
  return html`<${Page} title="Groups"><${Empty} title="Not built yet" /><//>`;
}
