// @ts-check
// The diagram of a request: its stations as dots in lanes, and below them as bars in time.

import { html, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { Panel } from "../parts/index.js";
import { lanesOf, span } from "./flow_stations.js";

const WIDTH_LEAST = 320;
const STEP_LEAST = 46;
const STEP_MOST = 90;
const LANE = 50;
const LEFT = 132;
const TOP = 8;

/** A panel with the stations of a request; times are shown relative to `zero`, in seconds. */
export function Way({ title, about, stations, zero, empty }) {
  const [chosen, choose] = useState(null);
  const [box, width] = useWidth(stations.length > 0);
  return html`<${Panel} title=${title} inside=${false}
      actions=${about && html`<span class="quiet">${about}</span>`}>
    ${
      stations.length === 0
        ? html`<div class="inside quiet">${empty}</div>`
        : html`
            <div class="flow-box" ref=${box} tabindex="0" role="region"
                aria-label="${title}: the stations in lanes">
              <${Lanes} room=${width} stations=${stations} zero=${zero} chosen=${chosen}
                  choose=${choose} title=${title} />
            </div>
            <${Waterfall} stations=${stations} zero=${zero} chosen=${chosen} choose=${choose} />
          `
    }
  <//>`;
}

/** Return the ref of a box, and the width of its content in px, followed while it is shown. */
function useWidth(isShown) {
  const box = useRef(null);
  const [width, set] = useState(WIDTH_LEAST);
  useLayoutEffect(() => {
    if (!isShown) return undefined;
    const look = () => {
      const { paddingLeft, paddingRight } = getComputedStyle(box.current);
      set(
        Math.max(
          box.current.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight),
          WIDTH_LEAST,
        ),
      );
    };
    look();
    const sized = new ResizeObserver(look);
    sized.observe(box.current);
    return () => sized.disconnect();
  }, [isShown]);
  return [box, width];
}

function Lanes({ room, stations, zero, chosen, choose, title }) {
  const lanes = lanesOf(stations);
  const row = new Map(lanes.map(([id], index) => [id, index]));
  const step = Math.min(STEP_MOST, Math.max(STEP_LEAST, (room - LEFT) / (stations.length + 0.6)));
  const width = Math.max(LEFT + step * (stations.length + 0.6), room);
  const height = TOP + LANE * lanes.length + 4;
  const y = (lane) => TOP + LANE * (row.get(lane) ?? 0) + LANE / 2;
  const x = (index) => LEFT + step * (index + 0.9);
  const points = [
    [LEFT + 6, y("client")],
    ...stations.map((one, index) => [x(index), y(one.lane)]),
  ];
  const words = stations.map((one) => `${one.name} ${span(one.at - zero)}`).join(", ");
  return html`<svg class="flow-lanes" width=${width} height=${height}
      viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}: ${words}">
    ${lanes.map(
      ([id, name], index) =>
        html`<g key=${id}>
          <rect class="lane lane-${id.split("-")[0]}" x="0" y=${TOP + LANE * index + 1}
              width=${width} height=${LANE - 2} rx="6" />
          <text class="lane-name" x="14" y=${y(id) + 4}>${name}</text>
        </g>`,
    )}
    <path class="way" d=${curve(points)} />
    <circle class="from" cx=${LEFT + 6} cy=${y("client")} r="5" />
    ${stations.map(
      (one, index) =>
        html`<g key=${index}
            class="stop ${one.lane.split("-")[0]} ${chosen === index ? "chosen" : ""}"
            onMouseEnter=${() => choose(index)} onMouseLeave=${() => choose(null)}>
          <rect class="hit" x=${x(index) - step / 2} y=${y(one.lane) - LANE / 2} width=${step}
              height=${LANE} />
          <circle cx=${x(index)} cy=${y(one.lane)} r="9" />
          <text class="stop-number" x=${x(index)} y=${y(one.lane) + 3.5}>${index + 1}</text>
          <text class="stop-name" x=${x(index)} y=${y(one.lane) - 13}>${one.name}</text>
          <text class="stop-time" x=${x(index)} y=${y(one.lane) + 21}>${span(one.at - zero)}</text>
        </g>`,
    )}
  </svg>`;
}

function curve(points) {
  return points
    .map(([x, y], index) => {
      if (index === 0) return `M${x} ${y}`;
      const [fromX, fromY] = points[index - 1];
      const middle = (fromX + x) / 2;
      return y === fromY ? `L${x} ${y}` : `C${middle} ${fromY} ${middle} ${y} ${x} ${y}`;
    })
    .join("");
}

function Waterfall({ stations, zero, chosen, choose }) {
  const first = Math.min(...stations.map((one) => one.since ?? one.at));
  const last = Math.max(...stations.map((one) => one.at));
  const whole = Math.max(last - first, 1e-9);
  return html`<ol class="flow-fall" aria-label="The stations by time">
    ${stations.map((one, index) => {
      const since = one.since ?? (index ? stations[index - 1].at : one.at);
      const kind = one.lane.split("-")[0];
      return html`<li key=${index} class=${chosen === index ? "chosen" : ""}
          onMouseEnter=${() => choose(index)} onMouseLeave=${() => choose(null)}>
        <span class="stop-badge ${kind}">${index + 1}</span>
        <div class="fall-words">
          <div>
            <b>${one.name}</b>
            ${
              kind === "follower" &&
              html` <span class="quiet">broker ${one.lane.split("-")[1]}</span>`
            }
            ${one.facts.map(
              ([name, value]) => html`<span class="fact"><i>${name}</i> ${value}</span>`,
            )}
          </div>
          <div class="quiet">${one.sentence} <code>${one.file}</code></div>
        </div>
        <div class="fall-time">
          <b>${span(one.at - zero)}</b>
          <span class="quiet">${one.at > since ? `+${span(one.at - since)}` : ""}</span>
        </div>
        <div class="fall-bar" aria-hidden="true">
          <span class=${kind} style=${{
            left: `${((since - first) / whole) * 100}%`,
            width: `${Math.max(((one.at - since) / whole) * 100, 0.35)}%`,
          }}></span>
        </div>
      </li>`;
    })}
  </ol>`;
}
