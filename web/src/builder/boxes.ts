/** Finds empty boxes, checkboxes and lines to write on, based on the lines drawn on a page. */
import { overlaps, type Box } from "./geometry";
import { cleanLabel, typeOf } from "./labels";
import type { FieldContent } from "./model";
import { cellsOf, type Line, type PageLines } from "./pagelines";
import type { PieceOfText } from "./pagetext";

/** A blank to fill in. The type "text" represents all text types. */
interface Blank extends Box { type: "text" | "checkbox"; label: string; content?: Partial<FieldContent> }

const tick = { smallest: 5, largest: 22 }; // in points; length of the sides of a checkbox
// The minimum width and height, and the maximum height, of a text box, in points.
const writing = { width: 24, height: 9, highest: 120 };
const mostBlanks = 200; // per page

const inset = (b: Box, by: number): Box => ({ x: b.x + by, y: b.y + by, w: b.w - 2 * by, h: b.h - 2 * by });
const middle = (b: Box): number => b.y + b.h / 2;
const isTick = (b: Box): boolean => b.w >= tick.smallest && b.w <= tick.largest && b.h >= tick.smallest && b.h <= tick.largest && b.w / b.h > 0.7 && b.w / b.h < 1.43;
const touches = (a: Box, b: Box): boolean => Math.abs(a.x + a.w - b.x) < 1.5 && Math.abs(a.y - b.y) < 1.5 && Math.abs(a.h - b.h) < 1.5 && Math.abs(a.w - b.w) < 2;

/** Returns the nearest text on the same line on the given side of the box. */
function beside(b: Box, texts: readonly PieceOfText[], side: "left" | "right", reach: number): string {
  const gap = (t: Box) => (side === "right" ? t.x - b.x - b.w : b.x - t.x - t.w);
  return texts.filter((t) => gap(t) > -2 && gap(t) < reach && Math.abs(middle(t) - middle(b)) < Math.max(t.h, b.h) / 2 + 1).sort((p, q) => gap(p) - gap(q))[0]?.text.trim() ?? "";
}

/** Returns the nearest text above a box that starts within the box's width. */
const above = (b: Box, texts: readonly PieceOfText[], reach: number): string =>
  texts.filter((t) => t.y + t.h <= b.y + 2 && b.y - t.y - t.h < reach && t.x >= b.x - 4 && t.x < b.x + b.w).sort((p, q) => q.y - p.y)[0]?.text.trim() ?? "";

const labelOf = (b: Box, texts: readonly PieceOfText[]): string => cleanLabel(beside(b, texts, "left", 250) || above(b, texts, 40) || beside(b, texts, "right", 80));

/** Returns the blank of a box that is empty, or that has one line of small text at its top and space below. */
function toWriteIn(cell: Box, texts: readonly PieceOfText[]): Blank | null {
  const inside = texts.filter((t) => overlaps(t, inset(cell, 1)));
  const room = inset(cell, 1.5);
  if (inside.length === 0) return { ...room, type: "text", label: labelOf(cell, texts) };
  const bottom = Math.max(...inside.map((t) => t.y + t.h));
  const top = Math.min(...inside.map((t) => t.y));
  const first = inside[0]!;
  if (inside.some((t) => Math.abs(t.y - first.y) > 2 || t.h > 10) || top - cell.y > 6 || cell.y + cell.h - bottom < 11) return null;
  return { x: room.x, y: bottom + 1, w: room.w, h: cell.y + cell.h - bottom - 2.5, type: "text", label: cleanLabel(inside.map((t) => t.text).join(" ")) };
}

/**
 * Returns the blank of a line to write on, if the line is free, and a label precedes it or is below it.
 */
function toWriteOn(line: Line, texts: readonly PieceOfText[], images: readonly Box[]): Blank | null {
  const w = line.to - line.from;
  if (w < 50 || w > 420) return null;
  const room: Box = { x: line.from, y: line.at - 15, w, h: 14 };
  const clear = inset(room, 2);
  if (room.y < 0 || texts.some((t) => overlaps(t, clear)) || images.some((i) => overlaps(i, clear))) return null;
  const lead = texts.filter((t) => Math.abs(t.y + t.h - line.at) <= 5 && t.x + t.w <= line.from + 3 && line.from - t.x - t.w < 160).sort((a, b) => b.x - a.x)[0]
    ?? texts.filter((t) => t.rtl && Math.abs(t.y + t.h - line.at) <= 5 && t.x >= line.to - 3 && t.x - line.to < 160).sort((a, b) => a.x - b.x)[0]
    ?? texts.filter((t) => t.y - line.at > -2 && t.y - line.at < 8 && t.w <= w * 1.1 && t.x >= line.from - 4 && t.x + t.w <= line.to + w * 0.1).sort((a, b) => a.x - b.x)[0];
  if (!lead) return null;
  const label = cleanLabel(lead.text.trim());
  const higher = { ...room, y: line.at - 31, h: 30 }; // a signature is taller if there is space
  const roomy = typeOf(label) === "signature" && higher.y >= 0 && !texts.some((t) => overlaps(t, inset(higher, 1)));
  return { ...(roomy ? higher : room), type: "text", label };
}

/**
 * Joins adjacent pieces of text on a line. Letters are normalized (NFKC), because some fonts use presentation forms.
 */
function phrases(texts: readonly PieceOfText[]): PieceOfText[] {
  const out: PieceOfText[] = [];
  for (const t of [...texts].sort((a, b) => a.x - b.x)) {
    const before = out.find((o) => Math.abs(o.y + o.h - t.y - t.h) < 2 && t.x - o.x - o.w > -2 && t.x - o.x - o.w < 0.4 * Math.max(o.h, t.h));
    if (!before) {
      out.push({ ...t, text: t.text.normalize("NFKC") });
      continue;
    }
    before.text = t.rtl ? t.text.normalize("NFKC") + before.text : before.text + (t.x - before.x - before.w > 0.15 * t.h ? " " : "") + t.text.normalize("NFKC");
    before.rtl ||= t.rtl;
    [before.y, before.h, before.w] = [Math.min(before.y, t.y), Math.max(before.h, t.h), t.x + t.w - before.x];
  }
  return out;
}

/** Returns the blanks found among the lines of a page. */
export function boxesIn(lines: PageLines, pieces: readonly PieceOfText[]): Blank[] {
  const texts = phrases(pieces);
  const cells = cellsOf(lines);
  const out: Blank[] = [];
  const free = (b: Box) => !lines.images.some((i) => overlaps(i, inset(b, 1)));
  const empty = (b: Box) => free(b) && !texts.some((t) => overlaps(t, inset(b, 1)));
  const ticks = cells.filter((c) => isTick(c) && empty(c)).sort((a, b) => a.y - b.y || a.x - b.x);
  const used = new Set<Box>();
  for (const first of ticks) {
    if (used.has(first)) continue;
    const run = [first];
    for (let next = ticks.find((c) => touches(first, c)); next; next = ticks.find((c) => touches(run.at(-1)!, c))) run.push(next);
    run.forEach((c) => used.add(c));
    if (run.length < 3) {
      for (const c of run) out.push({ ...c, type: "checkbox", label: cleanLabel(beside(c, texts, "right", 60) || beside(c, texts, "left", 60)) });
      continue;
    }
    // Adjacent small boxes each hold one character.
    const last = run.at(-1)!;
    const row: Box = { x: first.x, y: first.y, w: last.x + last.w - first.x, h: first.h };
    out.push({ ...row, type: "text", label: labelOf(row, texts), content: { comb: true, maxLength: run.length } });
  }
  for (const c of cells) {
    if (isTick(c) || c.w < writing.width || c.h < writing.height || c.h > writing.highest || !free(c)) continue;
    const found = toWriteIn(c, texts);
    if (found) out.push(found);
  }
  const edge = (l: Line) => cells.some((c) => [c.y, c.y + c.h].some((y) => Math.abs(y - l.at) < 1.5) && c.x < l.to - 1 && l.from < c.x + c.w - 1);
  for (const line of lines.horizontal) {
    if (edge(line)) continue;
    const found = toWriteOn(line, texts, lines.images);
    if (found) out.push(found);
  }
  return out.slice(0, mostBlanks);
}
