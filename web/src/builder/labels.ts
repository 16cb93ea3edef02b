import type { Box } from "./geometry";
import type { FieldType } from "./model";
import type { PieceOfText } from "./pagetext";

// Patterns for the text before a blank, and the field type that each of them suggests. The first match is used.
const words: [RegExp, FieldType][] = [
  [/initial|paraph|iniciales|ראשי תיבות|الأحرف الأولى/i, "initial"],
  [/sign(ed|ature)?\b|unterschrift|firma|assinatura|handtekening|podpis|imza|underskrift|توقيع|חתימ|署名/i, "signature"],
  [/date|datum|fecha|data|dato|tarih|تاريخ|תאריך|日付/i, "date"],
  [/e-?mail|بريد|דוא/i, "email"],
  [/company|firm\b|société|empresa|unternehmen|organi[sz]ation|شركة|חברה|会社/i, "company"],
  [/title|position|funktion|fonction|cargo/i, "title"],
  [/name|nom\b|nombre|naam|ad soyad|imię|اسم|שם|氏名/i, "name"],
];

/** Returns the field type that a label suggests. */
export const typeOf = (label: string): FieldType => words.find(([word]) => word.test(label))?.[1] ?? "text";

/** Returns a label without the trailing characters that lead to the blank, such as dots. */
export const cleanLabel = (text: string): string => text.replace(/[:：\s_.…]+$/, "").trim().slice(-60);

const nearest = { beside: 120, above: 14, mark: 20 }; // in points
const longest = 60; // in characters

/**
 * Returns the text that a person would read as the label of a new field. The label is beside the field on the same
 * line, or above it. For a checkbox, it is the text after the box.
 */
export function labelBeside(texts: readonly PieceOfText[], type: FieldType, box: Box): string {
  const middle = box.y + box.h / 2;
  const onLine = (t: PieceOfText) => middle > t.y - 3 && middle < t.y + t.h + 3 || (t.y + t.h / 2 > box.y && t.y + t.h / 2 < box.y + box.h);
  const before = (t: PieceOfText) => (t.rtl ? t.x - box.x - box.w : box.x - t.x - t.w);
  const after = (t: PieceOfText) => (t.rtl ? box.x - t.x - t.w : t.x - box.x - box.w);
  const closest = (some: readonly PieceOfText[], distance: (t: PieceOfText) => number, most: number) => some.filter((t) => distance(t) > -4 && distance(t) < most).sort((a, b) => distance(a) - distance(b))[0];
  const readable = texts.map((t) => ({ ...t, text: cleanLabel(t.text.replace(/[_.…]{4,}.*$/, "")) })).filter((t) => /\p{L}/u.test(t.text) && t.text.length < longest);
  const marks = type === "checkbox" || type === "radio";
  const found = marks ? closest(readable.filter(onLine), after, nearest.mark)
    : closest(readable.filter(onLine), before, nearest.beside) ?? closest(readable.filter((t) => t.x < box.x + box.w && t.x + t.w > box.x), (t) => box.y - t.y - t.h, nearest.above);
  return found?.text ?? "";
}
