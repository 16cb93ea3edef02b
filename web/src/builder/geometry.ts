/** The positions of fields. All values are in points from the upper left corner of a page. */

export interface Box { x: number; y: number; w: number; h: number }
export interface Size { width: number; height: number }

/** The lines to which a moved box has snapped: x of vertical lines, and y of horizontal lines. */
export interface Guides { vertical: number[]; horizontal: number[] }

export const noGuides: Guides = { vertical: [], horizontal: [] };

export const smallest = 8;

/** Returns the box after moving it onto the page and, if it is larger than the page, reducing its size. */
export function onPage<B extends Box>(box: B, page: Size): B {
  const w = Math.min(Math.max(box.w, smallest), page.width);
  const h = Math.min(Math.max(box.h, smallest), page.height);
  return { ...box, w, h, x: Math.min(Math.max(box.x, 0), page.width - w), y: Math.min(Math.max(box.y, 0), page.height - h) };
}

/** Returns the bounding box of all boxes. */
export function bounds(boxes: readonly Box[]): Box {
  const x = Math.min(...boxes.map((b) => b.x));
  const y = Math.min(...boxes.map((b) => b.y));
  return { x, y, w: Math.max(...boxes.map((b) => b.x + b.w)) - x, h: Math.max(...boxes.map((b) => b.y + b.h)) - y };
}

export const overlaps = (a: Box, b: Box): boolean => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

const linesOf = (start: number, length: number): number[] => [start, start + length / 2, start + length];

/**
 * Returns the shortest distance within reach that moves one of a box's lines onto one of the target lines, or 0 if
 * there is none.
 */
function pull(lines: readonly number[], others: readonly number[], reach: number): number {
  let best = 0;
  let distance = reach;
  for (const line of lines) {
    for (const other of others) {
      const d = Math.abs(other - line);
      if (d < distance) {
        distance = d;
        best = other - line;
      }
    }
  }
  return best;
}

/** The lines to which a moved box snaps, by x and y: the lines of other boxes and of the page. */
export interface Targets { xs: readonly number[]; ys: readonly number[] }

/** Returns the edges and centers of other boxes, the center of the page, and the lines that the page draws. */
export function targetsOf(others: readonly Box[], page: Size, lines: { vertical: readonly { at: number }[]; horizontal: readonly { at: number }[] }): Targets {
  const distinct = (all: number[]) => [...new Set(all.map((n) => Math.round(n * 100) / 100))];
  return {
    xs: distinct([...others.flatMap((o) => linesOf(o.x, o.w)), page.width / 2, ...lines.vertical.map((l) => l.at)]),
    ys: distinct([...others.flatMap((o) => linesOf(o.y, o.h)), page.height / 2, ...lines.horizontal.map((l) => l.at)]),
  };
}

const met = (lines: readonly number[], all: readonly number[]): number[] => all.filter((a) => lines.some((l) => Math.abs(l - a) < 0.02));

/** Returns the distance to the nearest targets within reach, and the lines on which the box then lies. */
export function snap(box: Box, { xs, ys }: Targets, reach: number): { dx: number; dy: number; guides: Guides } {
  const dx = pull(linesOf(box.x, box.w), xs, reach);
  const dy = pull(linesOf(box.y, box.h), ys, reach);
  return { dx, dy, guides: { vertical: met(linesOf(box.x + dx, box.w), xs), horizontal: met(linesOf(box.y + dy, box.h), ys) } };
}

/** Returns the additional distance of a handle that moves its edge onto a target within reach. */
export function snapEdge(box: Box, handle: Handle, { xs, ys }: Targets, reach: number): { dx: number; dy: number; guides: Guides } {
  const x = handle.includes("e") ? [box.x + box.w] : handle.includes("w") ? [box.x] : [];
  const y = handle.includes("s") ? [box.y + box.h] : handle.includes("n") ? [box.y] : [];
  const [dx, dy] = [pull(x, xs, reach), pull(y, ys, reach)];
  return { dx, dy, guides: { vertical: met(x.map((n) => n + dx), xs), horizontal: met(y.map((n) => n + dy), ys) } };
}

export type Handle = "n" | "ne" | "e" | "se" | "s" | "sw" | "w" | "nw";

/** Returns the box after one of its handles has been moved. */
export function resize(box: Box, handle: Handle, dx: number, dy: number, page: Size): Box {
  let { x, y, w, h } = box;
  if (handle.includes("e")) w = Math.min(Math.max(w + dx, smallest), page.width - x);
  if (handle.includes("s")) h = Math.min(Math.max(h + dy, smallest), page.height - y);
  if (handle.includes("w")) {
    const left = Math.min(Math.max(x + dx, 0), x + w - smallest);
    [x, w] = [left, x + w - left];
  }
  if (handle.includes("n")) {
    const top = Math.min(Math.max(y + dy, 0), y + h - smallest);
    [y, h] = [top, y + h - top];
  }
  return { x, y, w, h };
}

export type Alignment = "left" | "centre" | "right" | "top" | "middle" | "bottom";

/** Aligns boxes with one side or the center of their bounding box. */
export function align<B extends Box>(boxes: readonly B[], how: Alignment): B[] {
  const all = bounds(boxes);
  return boxes.map((b) => {
    switch (how) {
      case "left": return { ...b, x: all.x };
      case "centre": return { ...b, x: all.x + (all.w - b.w) / 2 };
      case "right": return { ...b, x: all.x + all.w - b.w };
      case "top": return { ...b, y: all.y };
      case "middle": return { ...b, y: all.y + (all.h - b.h) / 2 };
      case "bottom": return { ...b, y: all.y + all.h - b.h };
    }
  });
}

/** Keeps the outer boxes in place, and makes the gaps between all boxes equal. */
export function distribute<B extends Box>(boxes: readonly B[], along: "x" | "y"): B[] {
  if (boxes.length < 3) return [...boxes];
  const extent = along === "x" ? "w" : "h";
  const sorted = [...boxes].sort((a, b) => a[along] - b[along] || a[extent] - b[extent]);
  const all = bounds(boxes);
  const gap = (all[extent] - sorted.reduce((sum, b) => sum + b[extent], 0)) / (sorted.length - 1);
  const to = new Map<B, number>();
  let at = all[along];
  for (const b of sorted) {
    to.set(b, at);
    at += b[extent] + gap;
  }
  return boxes.map((b) => ({ ...b, [along]: to.get(b)! }));
}

/** Returns a free position for a new box, which is the desired position, or a position below the existing boxes. */
export function freePlace(wanted: Box, others: readonly Box[], page: Size): Box {
  let box = onPage(wanted, page);
  for (let tries = 0; tries < 60; tries++) {
    const hit = others.find((o) => overlaps(box, o));
    if (!hit) return box;
    const next = onPage({ ...box, y: hit.y + hit.h + 6 }, page);
    if (next.y === box.y) break;
    box = next;
  }
  return onPage({ ...wanted, x: wanted.x + 12, y: wanted.y + 12 }, page);
}
