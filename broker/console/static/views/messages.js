import { html } from "../vendor/preact.js";
import { Empty, Page } from "../parts/index.js";

export function Messages() {
  return html`<${Page} title="Messages"><${Empty} title="Not built yet" /><//>`;
}
