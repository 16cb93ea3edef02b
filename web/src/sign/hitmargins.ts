import type { Field } from "./model";

/** The distances by which the clickable area of a field can extend beyond its box, in points. */
export interface HitMargin { left: number; right: number; above: number; below: number }

const maxMargin = 20; // in points; sufficient for the smallest box at the smallest legible scale

/**
 * Divides the space between fields, so that small fields can be tapped with a finger and no two clickable areas
 * overlap. Each field gets up to half of the gap to its neighbor.
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
