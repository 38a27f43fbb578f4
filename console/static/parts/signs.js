// @ts-check
// The signs of the navigation: lines of 16 units.

import { html } from "../vendor/preact.js";

const LINES = {
  overview: "M2 9.5 5 6l3 3 5.5-6M2 13.5h12",
  topics: "M2.5 3.5h11M2.5 8h11M2.5 12.5h7",
  groups:
    "M5.5 7.5a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4Z" +
    "M1.8 13c.3-2.4 1.8-3.7 3.7-3.7S8.9 10.6 9.2 13M10.5 7.2a1.9 1.9 0 1 0-.6-3.7" +
    "M11 9.4c1.7.1 2.9 1.3 3.2 3.4",
  transactions: "M2.5 5.5h9M9 3l2.5 2.5L9 8M13.5 10.5h-9M7 8l-2.5 2.5L7 13",
  segments: "M2 4h4v8H2zM7 4h4v8H7zM12 4h2v8h-2z",
  flow: "M2 4h5.5a2.5 2.5 0 0 1 0 5H5.5a2 2 0 0 0 0 4H14M11.5 10.5 14 13l-2.5 2.5",
  replicas: "M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z",
  quorum:
    "M8 4.5a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4ZM3.2 14" +
    "a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4ZM12.8 14" +
    "a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4ZM7.2 4.3 4 10.8M8.8 4.3l3.2 6.5M5 12.3h6",
  configs:
    "M2 4.5h7M12.5 4.5H14M2 11.5h1.5M7 11.5h7M10.7 6.2" +
    "a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4ZM5.2 13.2" +
    "a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4Z",
  access: "M8 8.2a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4ZM3 14c.4-2.7 2.3-4 5-4s4.6 1.3 5 4",
  more: "M3 4.5h10M3 8h10M3 11.5h10",
};

export function Sign({ name }) {
  return html`<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5"
      stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
    <path d=${LINES[name]} />
  </svg>`;
}
