import type { Field } from "./model";
import { legibleScale } from "./tracking";

/** The scale of the pages, in CSS pixels per point. */
export interface Zoom {
  /** The scale that the signer requested. */
  k: number;
  /** The requested scale, relative to the scale that fits the width. */
  ratio: number;
  /** Whether the scale was changed to display a field, and not selected by the signer. */
  auto: boolean;
}

export const steps = [0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4];

/**
 * Returns the scale after the width has changed. A zoom beyond the width is not reduced, and a smaller zoom keeps its
 * ratio to the width.
 */
export const effectiveScale = (zoom: Zoom | null, fit: number): number => (!zoom ? fit : zoom.ratio < 1 ? fit * zoom.ratio : Math.max(zoom.k, fit));

/** Returns the next larger or smaller step from a scale, or null if there is none. */
export function nextStep(k: number, fit: number, by: 1 | -1): number | null {
  const all = steps.map((s) => s * fit);
  return (by > 0 ? all.find((s) => s > k * 1.02) : all.findLast((s) => s < k * 0.98)) ?? null;
}

/**
 * Returns the scale at which a field and the surrounding text are legible, but no wider than the screen if possible.
 */
export function scaleForField(f: Field, near: readonly Field[], fit: number, width: number): number {
  let k = Math.max(1, Math.min(1.6, 14 / f.h));
  // Separate adjacent small fields enough for a finger to select one.
  for (const g of near) {
    const apart = Math.max(Math.abs(g.x + g.w / 2 - f.x - f.w / 2), Math.abs(g.y + g.h / 2 - f.y - f.h / 2));
    if (g !== f && apart > 6) k = Math.max(k, Math.min(2.4, 24 / apart));
  }
  return Math.min(k, Math.max(fit, (width - 24) / f.w));
}

/** Returns the scale for reading, which is the scale that fits if it is legible. */
export const readingScale = (fit: number): number => Math.max(fit, legibleScale * 1.01);
