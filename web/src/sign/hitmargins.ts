import type { Field } from "./model";

/** How far, in points, the area of a field that can be hit may reach beyond its box. */
export interface HitMargin { left: number; right: number; above: number; below: number }

const maxMargin = 20; // points: enough for the smallest box at the smallest scale that can be read

/**
 * Shares the space between fields, so that small ones can be hit with a finger and no two areas overlap: each gets up to
 * half of the gap to its neighbour.
 */
export function hitMargins(fields: readonly Field[]): HitMargin[] {
  const out = fields.map(() => ({ left: maxMargin, right: maxMargin, above: maxMargin, below: maxMargin }));
  fields.forEach((f, i) => {
    fields.forEach((g, j) => {
      if (i === j) return;
      const across = Math.max(g.x - (f.x + f.w), f.x - (g.x + g.w));
      const down = Math.max(g.y - (f.y + f.h), f.y - (g.y + g.h));
      if (Math.max(across, down) < 0 || Math.max(across, down) > 2 * maxMargin) return;
      const room = out[i]!;
      if (across >= down) {
        const side = g.x > f.x ? "right" : "left";
        room[side] = Math.min(room[side], across / 2);
      } else {
        const side = g.y > f.y ? "below" : "above";
        room[side] = Math.min(room[side], down / 2);
      }
    });
  });
  return out;
}
