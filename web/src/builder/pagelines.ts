/**
 * The straight lines that a page draws, read from pdf.js's operators. Places are points from the left and top edge of
 * the displayed page.
 */
import type { PageOperators } from "../sign/viewer";
import type { Box } from "./geometry";

/** A horizontal line at y from x to x, or a vertical one at x from y to y. */
export interface Line { at: number; from: number; to: number }

export interface PageLines { horizontal: readonly Line[]; vertical: readonly Line[]; images: readonly Box[] }

export const noLines: PageLines = { horizontal: [], vertical: [], images: [] };

type Matrix = readonly number[];
interface Point { x: number; y: number }

const thickest = 2.5; // points: a filled rectangle that is thinner is a line
const slack = 0.5; // points by which a line may lean
const gap = 3; // points between dashes of one line
const shortest = 5; // points
const mostSegments = 20_000; // of one page: a drawing with more is not searched

const product = (m: Matrix, n: ArrayLike<number>): Matrix => [
  m[0]! * n[0]! + m[2]! * n[1]!, m[1]! * n[0]! + m[3]! * n[1]!, m[0]! * n[2]! + m[2]! * n[3]!, m[1]! * n[2]! + m[3]! * n[3]!,
  m[0]! * n[4]! + m[2]! * n[5]! + m[4]!, m[1]! * n[4]! + m[3]! * n[5]! + m[5]!,
];

const apply = (m: Matrix, x: number, y: number): Point => ({ x: m[0]! * x + m[2]! * y + m[4]!, y: m[1]! * x + m[3]! * y + m[5]! });

function around(points: readonly Point[]): Box {
  const xs = points.map((p) => p.x);
  const ys = points.map((p) => p.y);
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, w: Math.max(...xs) - x, h: Math.max(...ys) - y };
}

/** The parts of a path that have no curves, each a list of points; pdf.js writes 0 for moveTo, 1 for lineTo, 2 for curveTo, 3 for closePath. */
function straightParts(path: ArrayLike<number>, m: Matrix): { points: Point[]; closed: boolean }[] {
  const out: { points: Point[]; closed: boolean }[] = [];
  let part: { points: Point[]; closed: boolean; curved: boolean } | null = null;
  const end = () => { if (part && !part.curved && part.points.length > 1) out.push(part); };
  for (let i = 0; i < path.length;) {
    const op = path[i++];
    if (op === 0 || !part) {
      end();
      part = { points: [], closed: false, curved: false };
    }
    if (op === 0 || op === 1) part.points.push(apply(m, path[i++]!, path[i++]!));
    else if (op === 2) { part.curved = true; i += 6; }
    else part.closed = true;
  }
  end();
  return out;
}

const isRectangle = (points: readonly Point[]): boolean => points.length >= 4 && points.length <= 5
  && points.every((p, i) => { const q = points[(i + 1) % points.length]!; return Math.abs(p.x - q.x) < slack || Math.abs(p.y - q.y) < slack; });

/** Whether b is a, drawn a line's breadth further in. */
const framed = (a: Box, b: Box): boolean => [b.x - a.x, b.y - a.y, a.x + a.w - b.x - b.w, a.y + a.h - b.y - b.h].every((d) => d > 0 && d <= thickest);

/** Joins segments of one line, and drops lines that are too short. */
function joined(lines: Line[]): Line[] {
  const out: Line[] = [];
  let open: Line[] = [];
  for (const line of lines.sort((a, b) => a.at - b.at || a.from - b.from)) {
    open = open.filter((o) => o.at > line.at - 0.8);
    const same = open.find((o) => Math.abs(o.at - line.at) <= 0.8 && line.from <= o.to + gap && line.to >= o.from - gap);
    if (same) {
      same.from = Math.min(same.from, line.from);
      same.to = Math.max(same.to, line.to);
    } else {
      const made = { ...line };
      open.push(made);
      out.push(made);
    }
  }
  return out.filter((l) => l.to - l.from >= shortest);
}

const isPale = (colour: readonly unknown[]): boolean => {
  const [first] = colour;
  const parts = typeof first === "string" ? [1, 3, 5].map((i) => parseInt(first.slice(i, i + 2), 16)) : colour.map(Number);
  return parts.length >= 3 && parts.slice(0, 3).every((n) => n >= 0xf4);
};

/** Reads the lines and the places of pictures of a page. Annotations are left out: the service reads forms. */
export function linesOf({ ops, names, args, toPage }: PageOperators): PageLines {
  const horizontal: Line[] = [];
  const vertical: Line[] = [];
  const images: Box[] = [];
  const lay = (a: Point, b: Point) => {
    if (Math.abs(a.y - b.y) < slack) horizontal.push({ at: (a.y + b.y) / 2, from: Math.min(a.x, b.x), to: Math.max(a.x, b.x) });
    else if (Math.abs(a.x - b.x) < slack) vertical.push({ at: (a.x + b.x) / 2, from: Math.min(a.y, b.y), to: Math.max(a.y, b.y) });
  };
  const edges = (b: Box) => {
    const [p, q, r, s] = [{ x: b.x, y: b.y }, { x: b.x + b.w, y: b.y }, { x: b.x + b.w, y: b.y + b.h }, { x: b.x, y: b.y + b.h }];
    lay(p, q);
    lay(q, r);
    lay(s, r);
    lay(p, s);
  };
  const stroke = (parts: { points: Point[]; closed: boolean }[]) => {
    for (const { points, closed } of parts) {
      points.forEach((p, i) => { if (i > 0) lay(points[i - 1]!, p); });
      if (closed) lay(points.at(-1)!, points[0]!);
    }
  };
  const fill = (parts: { points: Point[] }[]) => {
    const boxes = parts.map((p) => ({ ...around(p.points), rectangle: isRectangle(p.points) }));
    for (const b of boxes) {
      const inner = boxes.find((o) => o.rectangle && b.rectangle && framed(b, o));
      if (inner) edges({ x: (b.x + inner.x) / 2, y: (b.y + inner.y) / 2, w: (b.w + inner.w) / 2, h: (b.h + inner.h) / 2 });
      else if (b.h <= thickest && b.h < b.w) lay({ x: b.x, y: b.y + b.h / 2 }, { x: b.x + b.w, y: b.y + b.h / 2 });
      else if (b.w <= thickest && b.w < b.h) lay({ x: b.x + b.w / 2, y: b.y }, { x: b.x + b.w / 2, y: b.y + b.h });
    }
  };
  let state: { m: Matrix; paleStroke: boolean; paleFill: boolean } = { m: toPage, paleStroke: false, paleFill: false };
  const stack: typeof state[] = [];
  let annotation = false;
  for (let i = 0; i < ops.length; i++) {
    const name = names.get(ops[i]!);
    const arg = args[i] as unknown[];
    if (name === "beginAnnotation") annotation = true;
    else if (name === "endAnnotation") annotation = false;
    if (annotation) continue;
    if (horizontal.length + vertical.length > mostSegments) return { ...noLines, images };
    switch (name) {
      case "save": stack.push({ ...state }); break;
      case "restore": case "paintFormXObjectEnd": state = stack.pop() ?? state; break;
      case "transform": state.m = product(state.m, arg as number[]); break;
      case "paintFormXObjectBegin":
        stack.push({ ...state });
        if (arg[0]) state.m = product(state.m, arg[0] as number[]);
        break;
      case "setStrokeRGBColor": state.paleStroke = isPale(arg); break;
      case "setFillRGBColor": state.paleFill = isPale(arg); break;
      case "paintImageXObject": case "paintInlineImageXObject": case "paintImageMaskXObject":
        images.push(around([apply(state.m, 0, 0), apply(state.m, 1, 0), apply(state.m, 0, 1), apply(state.m, 1, 1)]));
        break;
      case "constructPath": {
        const [op, [path]] = arg as [number, [ArrayLike<number> | null]];
        const how = names.get(op) ?? "";
        if (!path || !("length" in path) || how === "endPath") break;
        const parts = straightParts(path, state.m);
        if (/stroke/i.test(how) && !state.paleStroke) stroke(parts);
        else if (/fill/i.test(how) && !state.paleFill) fill(parts);
        break;
      }
    }
  }
  return { horizontal: joined(horizontal), vertical: joined(vertical), images };
}

const reach = 1.5; // points between lines that meet

/** The smallest rectangles that lines enclose. A page with more lines than a form has is not searched. */
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
