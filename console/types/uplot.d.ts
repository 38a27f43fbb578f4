// What the page uses of vendor/uplot.js.

export default class uPlot {
  constructor(options: object, data: (number | null)[][], place: Element);
  ctx: CanvasRenderingContext2D;
  bbox: { left: number; top: number; width: number; height: number };
  setData(data: (number | null)[][]): void;
  setSize(size: { width: number; height: number }): void;
  valToPos(value: number, scale: string, isCanvas?: boolean): number;
  destroy(): void;
}
