const measuring = document.createElement("canvas").getContext("2d")!;

/** The minimum text size of a sealed entry, in points. */
const minTextSize = 5;
const lineHeight = 1.2;

/**
 * Calculates the size of text, in points, in the same way as the seal. The text is not wrapped if it is legible without
 * wrapping. Otherwise, the number of lines that allows the largest size is used. The service's decision is final; see
 * fitcheck.ts.
 */
export function fitText(text: string, w: number, h: number, wanted = 0): { lines: string[]; size: number } {
  measuring.font = '100px "Noto Sans", sans-serif';
  const widthOf = (s: string) => measuring.measureText(s).width / 100;
  const sizeOf = (lines: string[]) => Math.min(h / lineHeight / Math.max(lines.length, 1), w / Math.max(0.001, ...lines.map(widthOf)));
  const plain = text.split(/\r\n|\r|\n/);
  const largest = wanted > 0 ? Math.max(wanted, minTextSize) : 12;
  const size = Math.min(largest, sizeOf(plain));
  if (size >= Math.min(largest, 8)) return { lines: plain, size };
  const wrapped = (s: number) => plain.flatMap((line) => wrap(line, w / s, widthOf));
  for (let s = Math.min(largest, h / lineHeight); s > size && s >= minTextSize; s = s > minTextSize ? Math.max(s - 0.5, minTextSize) : 0) {
    const lines = wrapped(s);
    if (sizeOf(lines) >= s - 1e-6) return { lines, size: s };
  }
  if (size >= minTextSize) return { lines: plain, size };
  const lines = wrapped(minTextSize);
  const small = sizeOf(lines);
  return small > size ? { lines, size: small } : { lines: plain, size };
}

/** Wraps a line at its spaces. A word that is too long for a line can be broken at any character. */
function wrap(line: string, width: number, widthOf: (s: string) => number): string[] {
  const out: string[] = [];
  let now = "";
  for (const word of line.split(/(?<=\s)/)) {
    if (now && widthOf((now + word).trimEnd()) > width) {
      out.push(now.trimEnd());
      now = "";
    }
    now += word;
    while (widthOf(now.trimEnd()) > width) {
      const letters = [...now];
      let n = letters.length - 1;
      while (n > 1 && widthOf(letters.slice(0, n).join("")) > width) n--;
      if (n < 1) break;
      out.push(letters.slice(0, n).join(""));
      now = letters.slice(n).join("");
    }
  }
  return [...out, now.trimEnd()];
}
