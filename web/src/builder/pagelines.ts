/**
 * The straight lines that a page draws, as returned by the service. Positions are in points from the upper left corner
 * of the displayed page.
 */
import type { Box } from "./geometry";

/** A horizontal line at y from one x to another, or a vertical line at x from one y to another. */
export interface Line { at: number; from: number; to: number }

export interface PageLines { horizontal: readonly Line[]; vertical: readonly Line[]; images: readonly Box[] }

export const noLines: PageLines = { horizontal: [], vertical: [], images: [] };

const shortest = 5; // in points
const reach = 1.5; // in points, between lines that meet

/**
 * Returns the smallest rectangles enclosed by lines. A page with more lines than a form would contain is not searched.
 */
export function cellsOf({ horizontal, vertical }: PageLines): Box[] {
  if (horizontal.length > 600 || vertical.length > 600) return [];
  const across = [...horizontal].sort((a, b) => a.at - b.at);
  const down = [...vertical].sort((a, b) => a.at - b.at);
  const cells: Box[] = [];
  for (const top of across) {
    for (const left of down) {
      const corner = top.from <= left.at + reach && top.to >= left.at + shortest && left.from <= top.at + reach && left.to >= top.at + shortest;
      if (!corner) continue;
      const right = down.find((v) => v.at >= left.at + shortest && v.at <= top.to + reach && v.from <= top.at + reach && v.to >= top.at + shortest);
      const bottom = across.find((h) => h.at >= top.at + shortest && h.at <= left.to + reach && h.from <= left.at + reach && h.to >= left.at + shortest);
      if (!right || !bottom || bottom.to < right.at - reach || right.to < bottom.at - reach) continue;
      cells.push({ x: left.at, y: top.at, w: right.at - left.at, h: bottom.at - top.at });
    }
  }
  return cells;
}
