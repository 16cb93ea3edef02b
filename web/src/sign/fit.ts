const measuring = document.createElement("canvas").getContext("2d")!;

/** Sizes text, in points, as the seal does: one line if that stays readable, else as many as fit. */
export function fitText(text: string, w: number, h: number): { lines: string[]; size: number } {
  measuring.font = '100px "Noto Sans", sans-serif';
  const widthOf = (s: string) => measuring.measureText(s).width / 100;
  const plain = text.split(/\r\n|\r|\n/);
  const widest = Math.max(0.01, ...plain.map(widthOf));
  const size = Math.min(12, h / 1.2 / plain.length, w / widest);
  if (size >= 8 || h < 9.6) return { lines: plain, size };
  for (let s = Math.min(12, h / 2.4); s >= 4 && s > size; s -= 0.5) {
    const lines = plain.flatMap((line) => wrap(line, w / s, widthOf));
    if (lines.length * s * 1.2 <= h) return { lines, size: s };
  }
  return { lines: plain, size };
}

function wrap(line: string, width: number, widthOf: (s: string) => number): string[] {
  const out: string[] = [];
  let now = "";
  for (const word of line.split(/(?<=\s)/)) {
    if (now && widthOf((now + word).trimEnd()) > width) {
      out.push(now.trimEnd());
      now = "";
    }
    now += word;
  }
  return [...out, now.trimEnd()];
}
