import { expect, test } from "vitest";
import { labelBeside } from "./labels";

const texts = [
  { text: "Full name: ________", x: 72, y: 100, w: 60, h: 10 },
  { text: "Address of the tenant, as in the register", x: 72, y: 200, w: 200, h: 10 },
  { text: "I have read the rules", x: 90, y: 300, w: 120, h: 10 },
  { text: "שם", x: 400, y: 400, w: 20, h: 10, rtl: true },
];

test.each([
  ["text", { x: 140, y: 96, w: 160, h: 20 }, "Full name"],
  ["text", { x: 72, y: 214, w: 160, h: 20 }, "Address of the tenant, as in the register"],
  ["checkbox", { x: 72, y: 298, w: 14, h: 14 }, "I have read the rules"],
  ["text", { x: 230, y: 396, w: 160, h: 20 }, "שם"],
  ["text", { x: 300, y: 600, w: 160, h: 20 }, ""],
  ["text", { x: 400, y: 96, w: 100, h: 20 }, ""], // too far away from the text on its line
] as const)("a new %s field at %o is labeled %s", (type, box, label) => expect(labelBeside(texts, type, box)).toBe(label));
