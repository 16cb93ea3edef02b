/** Determines the positions of a page's fields in its text, for screen readers and for the Tab key. */

import type { Line } from "./textlayer";

/** A box on a page, in points from the upper left corner of the displayed page. */
export interface Box { x: number; y: number; w: number; h: number }

/** A position in the text of a page: after a word of a line, or before the first word (-1) of the first line. */
interface Position { line: number; word: number }

/** A box with its index in the given boxes. */
interface Ordered { box: number; after: Position }

/** A box in the direction of a line: its extent along the direction, from start to end, and across it. */
interface Extent { start: number; end: number; top: number; bottom: number }

/** A line in its own direction, which is reversed for right-to-left lines, so that reading always goes forward. */
interface Row extends Extent { angle: number; rtl: boolean; words: { start: number; end: number }[] }

/** The maximum distance from a check box to the words that follow it, relative to their size. */
const labelGap = 1.2;

/** Returns the boxes in reading order, each with the last word that precedes it. */
export function readingOrder(lines: readonly Line[], boxes: readonly Box[]): Ordered[] {
  const rows = lines.map(rowOf);
  // Diagonal text, such as a watermark, is not part of the flow of the text.
  const isStraight = (r: Row) => r.angle % 90 === 0;
  const flow = rows.some(isStraight) ? isStraight : () => true;
  const out = boxes.map((b, box): Ordered => ({ box, after: positionOf(rows, flow, b) }));
  return out.sort((a, b) => {
    const { line } = a.after;
    if (line !== b.after.line || a.after.word !== b.after.word) return line - b.after.line || a.after.word - b.after.word;
    const row = rows[line];
    const [p, q] = [extentOf(boxes[a.box]!, row), extentOf(boxes[b.box]!, row)];
    const together = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > Math.min(p.bottom - p.top, q.bottom - q.top) / 2;
    return together ? p.start - q.start : p.top - q.top;
  });
}

function positionOf(rows: readonly Row[], flow: (r: Row) => boolean, box: Box): Position {
  let beside: Position | undefined; // the latest words that precede the box on its line
  let label: { gap: number; at: Position } | undefined; // the words that directly follow the box
  let above: { gap: number; line: number } | undefined;
  let below: { gap: number; line: number } | undefined;
  let higher = -1; // the last line that is higher on the page
  let last: Row | undefined;
  let b = extentOf(box);
  rows.forEach((row, line) => {
    if (!flow(row)) return;
    if (row.angle !== last?.angle || row.rtl !== last.rtl) b = extentOf(box, row);
    last = row;
    const size = row.bottom - row.top;
    const [middle, center] = [(row.top + row.bottom) / 2, (b.top + b.bottom) / 2];
    if ((middle > b.top - size / 4 && middle < b.bottom + size / 4) || (center > row.top && center < row.bottom)) {
      const before = row.words.findLastIndex((w) => (w.start + w.end) / 2 < b.start || isCovered(w, b));
      if (before >= 0) beside = { line, word: before };
      const next = row.words[before + 1];
      if (next && (next.start + next.end) / 2 > b.end && next.start - b.end < labelGap * size && (!label || next.start - b.end < label.gap)) {
        label = { gap: next.start - b.end, at: { line, word: before } };
      }
      return;
    }
    if (middle < center) higher = line;
    const shared = Math.min(row.end, b.end) - Math.max(row.start, b.start);
    if (shared < Math.min(row.end - row.start, b.end - b.start) / 2) return;
    const gap = middle < center ? b.top - row.bottom : row.top - b.bottom;
    // If several parts of a line are equally close, use the last part above the box and the first part below it.
    if (middle < center && (!above || gap < above.gap + size / 4)) above = { gap, line };
    if (middle > center && (!below || gap < below.gap - size / 4)) below = { gap, line };
  });
  const endOf = (line: number): Position => (line < 0 ? { line: 0, word: -1 } : { line, word: rows[line]!.words.length - 1 });
  if (label) return label.at.word < 0 ? endOf(label.at.line - 1) : label.at;
  if (above && (!beside || above.line > beside.line)) return endOf(above.line);
  if (beside) return beside;
  return endOf(below ? below.line - 1 : higher);
}

const isCovered = (w: { start: number; end: number }, b: Extent): boolean => (w.start + w.end) / 2 >= b.start && (w.start + w.end) / 2 <= b.end;

function rowOf({ words, angle, rtl }: Line): Row {
  const along = words.map((w) => (rtl ? { start: -w.from - w.length, end: -w.from } : { start: w.from, end: w.from + w.length }));
  return {
    angle, rtl, words: along, start: Math.min(...along.map((w) => w.start)), end: Math.max(...along.map((w) => w.end)),
    top: Math.min(...words.map((w) => w.top)), bottom: Math.max(...words.map((w) => w.top + w.size)),
  };
}

/** Returns the extent of a box in the direction of a row, or in the direction of horizontal text. */
function extentOf({ x, y, w, h }: Box, row: Pick<Row, "angle" | "rtl"> = { angle: 0, rtl: false }): Extent {
  const radians = (row.angle * Math.PI) / 180;
  const [c, s] = [Math.cos(radians), Math.sin(radians)];
  const corners = [[x, y], [x + w, y], [x, y + h], [x + w, y + h]] as const;
  const along = corners.map(([px, py]) => (px * c + py * s) * (row.rtl ? -1 : 1));
  const across = corners.map(([px, py]) => -px * s + py * c);
  return { start: Math.min(...along), end: Math.max(...along), top: Math.min(...across), bottom: Math.max(...across) };
}
