/** The invisible text above the image of a page, for selecting, for searching in the page, and for screen readers. */

/** A word with its upright bounding box, in points from the upper left corner of the displayed page. */
export interface Word {
  text: string;
  x: number;
  y: number;
  w: number;
  h: number;
  /** The writing direction in degrees clockwise. */
  angle?: number;
  line: number;
}

/** The text of a page as returned by the service. The words are in logical order. */
export interface PageText { page: number; width: number; height: number; words: readonly Word[]; headings?: readonly Heading[]; truncated?: boolean }

/** A heading of a tagged PDF, by its lines. */
interface Heading { level: number; line: number; lastLine: number }

/**
 * A word within its line: its start along the writing direction, its length, and its position across the writing
 * direction.
 */
interface Placed { text: string; from: number; length: number; top: number; size: number }

/** The words of one line in one direction. */
export interface Line { words: readonly Placed[]; angle: number; rtl: boolean; vertical: boolean; line: number }

const rightToLeft = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
// Joined letters have no space between them, because browsers ignore letter spacing in these scripts.
const joined = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}]/u;
const stacked = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u;

/** The boxes of columns of stacked characters are taller than they are wide. */
const isVertical = (w: Word): boolean => !w.angle && stacked.test(w.text) && [...w.text].length > 1 && w.h > 1.5 * w.w;

/** Places a word along a direction. The x axis is along the direction, and the y axis is across it. */
function placed(word: Word, angle: number): Placed {
  const radians = (angle * Math.PI) / 180;
  const [c, s] = [Math.cos(radians), Math.sin(radians)];
  const [cx, cy] = [word.x + word.w / 2, word.y + word.h / 2];
  // The upright bounding box of a rotated box of length l and height t has the width l·|c| + t·|s| and the height
  // l·|s| + t·|c|.
  const [ac, as] = [Math.abs(c), Math.abs(s)];
  const turned = ac * ac - as * as;
  let [length, size] = [(word.w * ac - word.h * as) / turned, (word.h * ac - word.w * as) / turned];
  if (Math.abs(turned) < 0.2 || !(length > 0 && size > 0)) {
    const diagonal = Math.hypot(word.w, word.h);
    size = Math.min(word.w, word.h, diagonal / Math.max(1.5, [...word.text].length));
    length = Math.max(diagonal - size, size);
  }
  const [along, across] = [cx * c + cy * s, -cx * s + cy * c];
  return { text: word.text, from: along - length / 2, length, top: across - size / 2, size };
}

/** Joins the words of a page into lines, in logical order. */
export function linesOf(text: PageText): Line[] {
  const out: { words: Placed[]; angle: number; rtl: boolean; vertical: boolean; line: number }[] = [];
  for (const word of text.words) {
    const vertical = isVertical(word);
    // Stacked characters are written vertically, regardless of their direction.
    const angle = vertical ? 90 : word.angle ?? 0;
    const last = out.at(-1);
    const at = placed(word, angle);
    if (last && last.line === word.line && last.angle === angle && last.vertical === vertical) {
      last.words.push(at);
      last.rtl = at.from < last.words[0]!.from;
    } else {
      out.push({ words: [at], angle, rtl: rightToLeft.test(word.text), vertical, line: word.line });
    }
  }
  return out;
}

/**
 * Units of the layer per point. The layer is scaled down, so that no browser enlarges small text to its minimum font
 * size.
 */
export const unit = 10;

const pen = document.createElement("canvas").getContext("2d")!;
pen.font = "100px sans-serif";
pen.fontKerning = "none";
const widths = new Map<string, number>();

/** Returns the width of a string at font size 1. */
function naturalWidth(text: string): number {
  let w = widths.get(text);
  if (w === undefined) {
    if (widths.size > 20_000) widths.clear();
    w = pen.measureText(text).width / 100;
    widths.set(text, w);
  }
  return w;
}

/** The text of a page as an element, with the elements of the words of each line. */
export interface TextLayer { element: HTMLElement; lines: readonly Line[]; words: readonly HTMLElement[][] }

/** Returns the text of a page as an element. */
export function layText(text: PageText): TextLayer {
  const element = document.createElement("div");
  element.className = "textLayer";
  element.style.width = `${text.width * unit}px`;
  element.style.height = `${text.height * unit}px`;
  const lines = linesOf(text);
  let heading: HTMLElement | undefined;
  const words = lines.map((line) => {
    const laid = layLine(line);
    element.append(laid.element);
    const of = text.headings?.find((h) => h.line <= line.line && line.line <= h.lastLine);
    if (of && (of.line === line.line || !heading)) {
      heading = laid.element;
      heading.role = "heading";
      heading.ariaLevel = String(Math.min(6, of.level + aboveHeadings));
    } else if (of && heading) {
      // The lines of a heading are read as one heading.
      laid.element.id = `h-${nextId++}`;
      own(heading, laid.element.id);
    } else {
      heading = undefined;
    }
    return laid.words;
  });
  return { element, lines, words };
}

/** The headings of the page around the document have levels 1 and 2. */
const aboveHeadings = 2;
let nextId = 1;

/** Adds an element to the elements that a screen reader treats as children of the owner. */
const own = (owner: Element, id: string) => owner.setAttribute("aria-owns", [owner.getAttribute("aria-owns"), id].filter(Boolean).join(" "));

/**
 * Sets the positions of a page's fields in its text, for screen readers. The IDs of the elements are in reading order,
 * and each element follows a word or precedes the first word.
 */
export function placeInText({ element, words }: TextLayer, elements: readonly { id: string; after: { line: number; word: number } }[]): void {
  for (const owner of element.querySelectorAll("span")) owner.removeAttribute("aria-owns");
  for (const { id, after: { line, word } } of elements) {
    const owner = words[line]?.[word];
    const laid = owner?.parentElement;
    if (!laid) own(emptyAt(element.firstElementChild, (empty) => element.prepend(empty)), id);
    // A field below a heading is not part of it.
    else if ((laid.role === "heading" || laid.id) && owner === words[line]!.at(-1)) own(emptyAt(laid.nextElementSibling, (empty) => laid.after(empty)), id);
    else own(owner, id);
  }
}

/** Returns the element without text at a position between two lines. If there is none, it is created. */
function emptyAt(there: Element | null, insert: (empty: Element) => void): Element {
  if (there?.localName === "span") return there;
  const empty = document.createElement("span");
  insert(empty);
  return empty;
}

function layLine({ words, angle, rtl, vertical }: Line): { element: HTMLElement; words: HTMLElement[] } {
  const size = median(words.map((w) => w.size));
  const from = Math.min(...words.map((w) => w.from));
  const to = Math.max(...words.map((w) => w.from + w.length));
  const top = median(words.map((w) => w.top));
  const element = document.createElement("div");
  const { style } = element;
  element.dir = rtl ? "rtl" : "ltr";
  style.width = `${(to - from) * unit}px`;
  style.fontSize = `${size * unit}px`;
  if (vertical) {
    element.className = "vertical";
    style.left = `${(-top - size) * unit}px`;
    style.top = `${from * unit}px`;
    style.height = style.width;
    style.width = "auto";
  } else {
    const radians = (angle * Math.PI) / 180;
    const [c, s] = [Math.cos(radians), Math.sin(radians)];
    style.left = `${(from * c - top * s) * unit}px`;
    style.top = `${(from * s + top * c) * unit}px`;
    if (angle) style.transform = `rotate(${angle}deg)`;
  }
  const all = words.map((w) => w.text).join(" ");
  const spans = words.map((w) => {
    const span = document.createElement("span");
    span.textContent = w.text;
    return span;
  });
  if (!vertical && joined.test(all)) {
    const natural = naturalWidth(all);
    style.width = `${natural}em`;
    style.transform += ` scaleX(${((to - from) / size / Math.max(natural, 0.01)).toFixed(4)})`;
    spans.forEach((span, i) => element.append(i > 0 ? " " : "", span));
    element.append(document.createElement("br"));
    return { element, words: spans };
  }
  words.forEach((word, i) => {
    const span = spans[i]!;
    const letters = [...word.text].length;
    span.style.letterSpacing = vertical ? `${(word.length / size - letters) / letters}em` : spacing(word.text, word.length / size, letters);
    element.append(span);
    const next = words[i + 1];
    if (!next) return;
    const gap = (rtl ? word.from - next.from - next.length : next.from - word.from - word.length) / size;
    // If the logical order of words differs from their order on the page, the gap is meaningless.
    const blank = document.createElement("span");
    blank.textContent = " ";
    blank.style.letterSpacing = spacing(" ", gap > -0.3 && gap < 60 ? Math.max(gap, 0.02) : 0.25, 1);
    element.append(blank);
  });
  element.append(document.createElement("br")); // becomes a separate line when copied
  return { element, words: spans };
}

const spacing = (text: string, length: number, letters: number): string => `${((length - naturalWidth(text)) / letters).toFixed(4)}em`;

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
}
