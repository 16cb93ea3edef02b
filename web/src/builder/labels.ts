import type { FieldType } from "./model";

// Texts before a blank, and the field type that each suggests; the first match counts.
const words: [RegExp, FieldType][] = [
  [/initial|paraph|iniciales|ראשי תיבות|الأحرف الأولى/i, "initial"],
  [/sign(ed|ature)?\b|unterschrift|firma|assinatura|handtekening|podpis|imza|underskrift|توقيع|חתימ|署名/i, "signature"],
  [/date|datum|fecha|data|dato|tarih|تاريخ|תאריך|日付/i, "date"],
  [/e-?mail|بريد|דוא/i, "email"],
  [/company|firm\b|société|empresa|unternehmen|organi[sz]ation|شركة|חברה|会社/i, "company"],
  [/title|position|funktion|fonction|cargo/i, "title"],
  [/name|nom\b|nombre|naam|ad soyad|imię|اسم|שם|氏名/i, "name"],
];

/** Returns the type of field that a label suggests. */
export const typeOf = (label: string): FieldType => words.find(([word]) => word.test(label))?.[1] ?? "text";

/** Returns a label without the characters that lead to the blank after it. */
export const cleanLabel = (text: string): string => text.replace(/[:：\s_.…]+$/, "").trim().slice(-60);
