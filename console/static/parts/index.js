// @ts-check
// The parts that pages are made of.

export { Page, Panel, Tile, Tiles, Badge, Empty, ErrorLine, Waiting, Note } from "./page.js";
export { Button, Field, Check, Tabs, Confirm, Dialog, SearchBox } from "./controls.js";
export { CopyMenu } from "./copy.js";
export { AsOf } from "./as_of.js";
export { Table } from "./table.js";
export { Chart, Spark } from "./chart.js";
export { JsonTree } from "./json_tree.js";
export { parseJson } from "./json_text.js";
export { Text } from "./text.js";
export { Marks } from "./marks.js";
export {
  count,
  lagOf,
  bytes,
  exactBytes,
  rate,
  time,
  fullTime,
  zone,
  ago,
  duration,
  plural,
  shortNames,
} from "./words.js";
export { Time } from "./time.js";
