/** Creates images of signatures. Every image is a transparent PNG that is cropped to its ink. */

export const inkColour = "#14283f";

interface Typeface { label: string; family: string; covers: RegExp }

/** The typefaces for typed signatures. The label is recorded in the signature. */
const typefaces: readonly Typeface[] = [
  { label: "Dancing Script", family: '"Dancing Script", cursive', covers: /^[\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]*$/u },
  { label: "Caveat", family: '"Caveat", cursive', covers: /^(?!.*[\u1ea0-\u1ef1])[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Common}\p{Script=Inherited}]*$/u },
  { label: "Great Vibes", family: '"Great Vibes", cursive', covers: /^[\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]*$/u },
];

/** The typeface for all other scripts. It uses the system's handwriting or serif fonts. */
const systemTypeface: Typeface = {
  label: "Serif", covers: /^/,
  family: '"Klee One", "Hiragino Mincho ProN", "Yu Mincho", "Noto Serif CJK JP", "Noto Naskh Arabic", "Geeza Pro", "Noto Serif Devanagari", "Kohinoor Devanagari", serif',
};

/** Returns the typefaces that contain all letters of a string. */
export function typefacesFor(text: string): readonly Typeface[] {
  const found = typefaces.filter((f) => f.covers.test(text.normalize("NFC")));
  return found.length ? found : [systemTypeface];
}

/**
 * Reports whether the browser can draw every letter of a string. A browser draws the same empty box for every letter
 * that it cannot draw.
 */
export function hasLetters(text: string, face: Typeface): boolean {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 48;
  const pen = canvas.getContext("2d", { willReadFrequently: true })!;
  const picture = (letter: string) => {
    pen.clearRect(0, 0, 48, 48);
    Object.assign(pen, { font: `24px ${face.family}`, textBaseline: "middle" });
    pen.fillText(letter, 8, 24);
    return pen.getImageData(0, 0, 48, 48).data.join();
  };
  const box = picture("\u{10ffff}");
  return [...new Set(text.normalize("NFC"))].every((letter) => /[\s\p{M}\p{Cf}]/u.test(letter) || picture(letter) !== box);
}

const letterHeight = 160; // height of letters in pixels: 300 dpi in a field with a height of half an inch

/** Draws text in a typeface. A long name is split into two lines. The result is null for blank text. */
export async function drawTypedText(text: string, face: Typeface): Promise<string | null> {
  const words = text.trim().normalize("NFC");
  if (!words) return null;
  const font = `${letterHeight}px ${face.family}`;
  await document.fonts.load(font, words).catch(() => undefined);
  const canvas = document.createElement("canvas");
  let pen = canvas.getContext("2d")!;
  pen.font = font;
  const lines = pen.measureText(words).width > 7 * letterHeight ? splitInTwo(words) : [words];
  const width = Math.max(...lines.map((l) => pen.measureText(l).width));
  canvas.width = Math.min(4000, Math.ceil(width + 2 * letterHeight));
  canvas.height = letterHeight * (2 + lines.length);
  pen = canvas.getContext("2d")!;
  const rtl = /^[^\p{L}]*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u.test(words);
  Object.assign(pen, { font, fillStyle: inkColour, textBaseline: "middle", direction: rtl ? "rtl" : "ltr", textAlign: "start" });
  lines.forEach((l, i) => pen.fillText(l, rtl ? canvas.width - letterHeight : letterHeight, letterHeight * 1.5 + i * letterHeight, canvas.width - 2 * letterHeight));
  return cropToInk(canvas);
}

/** Splits a string at the space nearest to its middle. */
function splitInTwo(words: string): string[] {
  const spaces = [...words.matchAll(/\s+/g)].map((m) => m.index);
  if (spaces.length === 0) return [words];
  const middle = spaces.reduce((best, at) => (Math.abs(at - words.length / 2) < Math.abs(best - words.length / 2) ? at : best));
  return [words.slice(0, middle), words.slice(middle).trim()];
}

/**
 * Crops a canvas to its ink and returns it as a PNG image, at most 1200 pixels wide, or null if the canvas is empty.
 */
export function cropToInk(canvas: HTMLCanvasElement): string | null {
  const { width, height } = canvas;
  // Reading a canvas that is being drawn on is slow, so a copy is read.
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [width, height];
  const reader = copy.getContext("2d", { willReadFrequently: true })!;
  if (width && height) reader.drawImage(canvas, 0, 0);
  const pixels = reader.getImageData(0, 0, width, height).data;
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (pixels[(y * width + x) * 4 + 3]! < 8) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = y;
    }
  }
  if (right < 0) return null;
  const edge = 4;
  [left, top] = [Math.max(0, left - edge), Math.max(0, top - edge)];
  const [w, h] = [Math.min(width, right + edge + 1) - left, Math.min(height, bottom + edge + 1) - top];
  const scale = Math.min(1, 1200 / w, 600 / h);
  const out = document.createElement("canvas");
  out.width = Math.max(1, Math.round(w * scale));
  out.height = Math.max(1, Math.round(h * scale));
  const pen = out.getContext("2d")!;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(canvas, left, top, w, h, 0, 0, out.width, out.height);
  return out.toDataURL("image/png");
}

/** Reads an image file. If clean is true, light pixels become transparent, and dark pixels become ink. */
export async function drawUploadedImage(file: Blob, clean: boolean): Promise<string | null> {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, 1600 / bitmap.width, 1600 / bitmap.height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const pen = canvas.getContext("2d", { willReadFrequently: true })!;
  pen.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  if (clean) {
    const image = pen.getImageData(0, 0, canvas.width, canvas.height);
    removePaper(image.data);
    pen.putImageData(image, 0, 0);
  }
  return cropToInk(canvas);
}

/** Makes the paper transparent. The lighter a pixel is, the more it fades out. */
function removePaper(p: Uint8ClampedArray): void {
  const light = (i: number) => p[i]! * 0.299 + p[i + 1]! * 0.587 + p[i + 2]! * 0.114;
  const histogram = new Array<number>(256).fill(0);
  for (let i = 0; i < p.length; i += 4) histogram[Math.round(light(i))]!++;
  // The lightness of the paper is the most frequent lightness. Ink is considerably darker.
  const paper = histogram.reduce((best, n, i) => (n > histogram[best]! ? i : best), 255);
  const [full, none] = [paper * 0.45, paper * 0.8];
  for (let i = 0; i < p.length; i += 4) {
    const share = Math.min(1, Math.max(0, (none - light(i)) / (none - full)));
    p[i + 3] = Math.round(p[i + 3]! * share);
  }
}

/**
 * Returns the initials of a name. Letters that would join and might turn two initials into a word are separated.
 */
export function initialsOf(name: string): string {
  const letters = name.split(/[\s-]+/).map((part) => /^\P{M}\p{M}*/u.exec(part)?.[0] ?? "").filter(Boolean).slice(0, 4);
  const joining = letters.some((l) => /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Adlam}]/u.test(l));
  return joining ? letters.map((l) => `${l}.`).join(" ") : letters.join("");
}
