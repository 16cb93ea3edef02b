/** The text of a page, split into pieces of lines, as used for suggestions. */
import type { PageText } from "../pages/textlayer";
import type { Box } from "./geometry";

/** A piece of upright text, from the top of its capitals to its baseline. */
export interface PieceOfText extends Box { text: string; rtl?: boolean }

const rightToLeft = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

// The boxes from the service have the height of the font, from the ascenders to the descenders.
const baseline = 0.79;
const capitals = 0.83;

/** Joins the words of a line that are one space apart. */
export function piecesOf({ words }: PageText): PieceOfText[] {
  const out: (PieceOfText & { line: number })[] = [];
  for (const w of words) {
    if (w.angle) continue;
    const h = w.h * capitals;
    const y = w.y + w.h * baseline - h;
    const rtl = rightToLeft.test(w.text);
    const last = out.at(-1);
    const gap = last && (rtl ? last.x - w.x - w.w : w.x - last.x - last.w);
    if (last && last.line === w.line && Boolean(last.rtl) === rtl && gap! > -1 && gap! < 0.6 * w.h && Math.abs(last.y - y) < 0.3 * h) {
      last.text += ` ${w.text}`;
      const right = Math.max(last.x + last.w, w.x + w.w);
      last.x = Math.min(last.x, w.x);
      last.w = right - last.x;
      const bottom = Math.max(last.y + last.h, y + h);
      last.y = Math.min(last.y, y);
      last.h = bottom - last.y;
    } else {
      out.push({ text: w.text, x: w.x, y, w: w.w, h, line: w.line, ...(rtl ? { rtl } : {}) });
    }
  }
  return out;
}
