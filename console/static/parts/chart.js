// @ts-check
// Lines over time: a chart to read, and a small one to glance at.

import { html, useEffect, useLayoutEffect, useRef } from "../vendor/preact.js";
import uPlot from "../vendor/uplot.js";
import { rate, time } from "./words.js";

/* Of a step in seconds: the form of each mark, and below it what is said when year, month or day
 * change. */
const DAY = "\n{YYYY}-{MM}-{DD}";
const TIMES = [
  [365 * 86400, "{YYYY}", null, null, null, null, null, null, 1],
  [28 * 86400, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", DAY, null, DAY, null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", DAY, null, DAY, null, null, null, 1],
  [0.001, "{HH}:{mm}:{ss}.{fff}", DAY, null, DAY, null, null, null, 1],
];

const COLOURS = ["--accent", "--info", "--violet", "--warn", "--bad", "--good"];

/**
 * `x`: seconds since 1970; `lines`: [{name, values, colour}]; `show(value)` for axis and legend;
 * `marks`: [{at, name}], moments drawn as upright lines. `label` tells a screen reader what it is.
 */
export function Chart({ x, lines, show = rate, height = 200, label, marks = [] }) {
  const place = useRef(null);
  const chart = useRef(null);
  const latest = useRef({});
  latest.current = { show, marks };
  const names = lines.map((one) => one.name).join("\n");

  useLayoutEffect(() => {
    function made() {
      chart.current?.destroy();
      chart.current = new uPlot(
        options(place.current, lines, latest, height),
        [x, ...lines.map((one) => one.values)],
        place.current,
      );
    }
    made();
    const sized = new ResizeObserver(() =>
      chart.current.setSize({ width: place.current.clientWidth, height }),
    );
    sized.observe(place.current);
    document.addEventListener("themechange", made);
    return () => {
      sized.disconnect();
      document.removeEventListener("themechange", made);
      chart.current.destroy();
      chart.current = null;
    };
  }, [names, height]);
  useEffect(() => chart.current?.setData([x, ...lines.map((one) => one.values)]), [x, lines]);
  return html`<div class="chart" role="img" aria-label=${label} ref=${place}></div>`;
}

function options(place, lines, latest, height) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--ink-3"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui",
  };
  return {
    width: Math.max(place.clientWidth, 100),
    height,
    padding: [() => (latest.current.marks.length ? 22 : 8), 28, 0, 0],
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    legend: { show: lines.length > 0 },
    scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.08 : 1] } },
    axes: [
      { ...axis, values: TIMES, space: 64 },
      { ...axis, size: 64, values: (_, all) => all.map((one) => latest.current.show(one)) },
    ],
    series: [
      {
        value: (plot, at) => time((at ?? plot.data[0].at(-1)) * 1000, { millis: false }),
        label: "Time",
      },
      ...lines.map((one, index) => {
        const stroke = colour(one.colour ?? COLOURS[index % COLOURS.length]);
        return {
          label: one.name,
          stroke,
          width: 1.6,
          spanGaps: false,
          points: { show: false },
          fill: lines.length === 1 ? `${stroke}1f` : undefined,
          value: (plot, value, _, at) => {
            const known = at === null ? lastOf(plot.data[index + 1]) : value;
            return known === null ? "–" : latest.current.show(known);
          },
        };
      }),
    ],
    hooks: { draw: [(plot) => drawMarks(plot, latest.current.marks, colour("--bad"))] },
  };
}

/** The last known value of a line: the legend shows it while no cursor is over the chart. */
function lastOf(values) {
  return values.findLast((one) => one !== null && one !== undefined) ?? null;
}

function drawMarks(plot, marks, stroke) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.fillStyle = stroke;
  ctx.setLineDash([4, 4]);
  ctx.font = `${11 * devicePixelRatio}px system-ui`;
  for (const { at, name } of marks) {
    const left = plot.valToPos(at, "x", true);
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    // Above the lines, which would strike the name through.
    const isCut = left + ctx.measureText(name).width > ctx.canvas.width;
    ctx.textAlign = isCut ? "right" : "left";
    ctx.fillText(name, left, bbox.top - 5 * devicePixelRatio);
  }
  ctx.restore();
}

/** Numbers as a line without axes; `label` says them in words. Nulls are left out. */
export function Spark({ values, width = 96, height = 24, label }) {
  const known = values
    .map((one, at) => [at, one])
    .filter(([, one]) => one !== null && one !== undefined);
  if (known.length < 2) return html`<span class="quiet" aria-label=${label}>–</span>`;
  const most = Math.max(...known.map(([, one]) => one), 1e-9);
  const points = known.map(([at, one]) => {
    const x = (at / (values.length - 1)) * width;
    const y = height - 2 - (one / most) * (height - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  const [start] = points[0].split(",");
  const [end] = points.at(-1).split(",");
  return html`<svg class="spark" width=${width} height=${height} viewBox="0 0 ${width} ${height}"
      role="img" aria-label=${label} preserveAspectRatio="none">
    <path class="under" d="M${points.join("L")}L${end},${height}L${start},${height}Z" />
    <path d="M${points.join("L")}" />
  </svg>`;
}
