// @vitest-environment node
import { beforeAll, describe, expect, test, vi } from "vitest";
import { readingOrder, type Box } from "./readingorder";
import type { Line, PageText, Word } from "./textlayer";

let linesOf: (text: PageText) => Line[];
beforeAll(async () => {
  vi.stubGlobal("document", { createElement: () => ({ getContext: () => ({}) }) });
  ({ linesOf } = await import("./textlayer"));
});

const word = (text: string, x: number, y: number, w: number, h: number, line: number, angle?: number): Word => ({ text, x, y, w, h, line, ...(angle ? { angle } : {}) });
const box = (x: number, y: number, w = 60, h = 14): Box => ({ x, y, w, h });

/** Returns the words of a page, with the indexes of the boxes between them. */
function read(words: Word[], ...boxes: Box[]): string {
  const lines = linesOf({ page: 1, width: 600, height: 800, words });
  const order = readingOrder(lines, boxes);
  const after = (line: number, at: number) => order.filter((o) => o.after.line === line && o.after.word === at).map((o) => ` ${o.box}`).join("");
  return lines.map((l, i) => (i === 0 ? after(0, -1) : "") + l.words.map((w, j) => ` ${w.text}${after(i, j)}`).join("")).join("").trim();
}

describe("the order of boxes in the text", () => {
  test("is that of the lines", () => {
    const text = [word("Title", 50, 40, 60, 14, 1), word("Name:", 50, 80, 40, 12, 2), word("Date:", 250, 80, 40, 12, 2), word("End", 50, 140, 40, 12, 3)];
    expect(read(text, box(300, 78), box(100, 78), box(50, 110), box(50, 10), box(400, 300))).toBe("3 Title Name: 1 Date: 0 2 End 4");
  });

  test("puts a check box before its label, and a box over its line after the words that it covers", () => {
    const text = [word("Choose:", 50, 40, 50, 12, 1), word("Yes", 66, 60, 30, 12, 2), word("No", 66, 80, 30, 12, 3), word("Signature", 50, 120, 60, 12, 4), word("____", 120, 120, 100, 12, 4)];
    expect(read(text, box(50, 80, 12, 12), box(50, 60, 12, 12), box(118, 100, 110, 34))).toBe("Choose: 1 Yes 0 No Signature ____ 2");
  });

  test("follows columns", () => {
    const column = (x: number, from: number, ...names: string[]) => names.map((n, i) => word(n, x, 100 + 40 * i, 200, 12, from + i));
    const text = [word("Head", 50, 40, 450, 16, 1), ...column(50, 2, "a", "b", "c"), ...column(300, 5, "d", "e", "f")];
    expect(read(text, box(300, 160), box(300, 120), box(50, 120), box(50, 220), box(300, 220), box(50, 70))).toBe("Head 5 a 2 b c 3 d 1 e 0 f 4");
  });

  test("follows the direction of the text", () => {
    const hebrew = [word("שם", 500, 40, 40, 12, 1), word("תאריך", 300, 40, 50, 12, 1), word("סוף", 500, 80, 40, 12, 2)];
    expect(read(hebrew, box(230, 38), box(430, 38), box(480, 60), box(400, 60))).toBe("שם 1 תאריך 0 2 3 סוף");
    const vertical = [word("契約書類", 500, 40, 16, 64, 1), word("賃貸条項", 460, 40, 16, 64, 2)];
    expect(read(vertical, box(460, 110, 16, 40), box(500, 110, 16, 40))).toBe("契約書類 1 賃貸条項 0");
    // The page is rotated by a quarter turn, so its lines go down and follow each other to the left.
    const turned = [word("Name:", 500, 40, 12, 40, 1, 90), word("End", 440, 40, 12, 40, 2, 90)];
    expect(read(turned, box(470, 40, 14, 60), box(498, 90, 14, 60))).toBe("Name: 1 0 End");
    const upsideDown = [word("Name:", 500, 700, 40, 12, 1, 180), word("End", 500, 640, 40, 12, 2, 180)];
    expect(read(upsideDown, box(480, 670), box(400, 700))).toBe("Name: 1 0 End");
  });

  test("ignores watermarks", () => {
    const text = [word("One", 50, 100, 400, 12, 1), word("Two", 50, 400, 400, 12, 2), word("DRAFT", 100, 100, 400, 400, 3, 315)];
    expect(read(text, box(200, 300))).toBe("One 0 Two DRAFT");
  });

  test("without text is that of horizontal lines", () => {
    expect(readingOrder([], [box(300, 50), box(50, 52), box(50, 10)]).map((o) => o.box)).toEqual([2, 1, 0]);
  });
});
