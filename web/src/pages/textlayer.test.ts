// @vitest-environment node
import { beforeAll, describe, expect, test, vi } from "vitest";
import type { Line, PageText, Word } from "./textlayer";

let linesOf: (text: PageText) => Line[];
beforeAll(async () => {
  vi.stubGlobal("document", { createElement: () => ({ getContext: () => ({}) }) });
  ({ linesOf } = await import("./textlayer"));
});

const word = (text: string, x: number, y: number, w: number, h: number, line: number, angle?: number): Word => ({ text, x, y, w, h, line, ...(angle ? { angle } : {}) });
const lines = (...words: Word[]) => linesOf({ page: 1, width: 600, height: 800, words });

describe("lines of a page", () => {
  test("join words in their order", () => {
    const [first, second] = lines(word("The", 10, 10, 20, 12, 1), word("rent", 34, 10, 22, 12, 1), word("is", 10, 26, 9, 12, 2));
    expect(first!.words.map((w) => [w.text, w.from, w.length])).toEqual([["The", 10, 20], ["rent", 34, 22]]);
    expect(second!.words).toHaveLength(1);
  });

  test("know their direction", () => {
    expect(lines(word("שלום", 100, 10, 30, 12, 1))[0]).toMatchObject({ rtl: true, angle: 0 });
    expect(lines(word("tenant", 10, 10, 30, 12, 1), word("(שלום)", 44, 10, 30, 12, 1), word("pays", 80, 10, 20, 12, 1))[0]).toMatchObject({ rtl: false });
    expect(lines(word("שלום", 100, 10, 30, 12, 1), word("(Ltd)", 60, 10, 30, 12, 1), word("שלום", 20, 10, 30, 12, 1))[0]).toMatchObject({ rtl: true });
    expect(lines(word("契約書", 100, 10, 16, 48, 1))[0]).toMatchObject({ vertical: true, angle: 90 });
    expect(lines(word("契約書", 100, 10, 48, 16, 1))[0]).toMatchObject({ vertical: false, angle: 0 });
    expect(lines(word("up", 10, 10, 9, 12, 1), word("down", 10, 30, 12, 40, 1, 90))).toHaveLength(2);
  });

  test("undo the turn of their words", () => {
    const [down] = lines(word("down", 100, 50, 12, 40, 1, 90));
    expect(down!.words[0]!.from).toBeCloseTo(50);
    expect(down!.words[0]!.length).toBeCloseTo(40);
    expect(down!.words[0]!.size).toBeCloseTo(12);
    // A word of 60 by 12 points that is rotated by 30 degrees, and a word that is rotated by 45 degrees, for which the
    // bounding box does not determine the size.
    const [c, s] = [Math.cos(Math.PI / 6), Math.sin(Math.PI / 6)];
    const [turned] = lines(word("turned", 0, 0, 60 * c + 12 * s, 60 * s + 12 * c, 1, 30));
    expect(turned!.words[0]!.length).toBeCloseTo(60);
    expect(turned!.words[0]!.size).toBeCloseTo(12);
    const [diagonal] = lines(word("diagonal", 0, 0, 50, 50, 1, 315));
    expect(diagonal!.words[0]!.length).toBeGreaterThan(diagonal!.words[0]!.size);
  });
});
