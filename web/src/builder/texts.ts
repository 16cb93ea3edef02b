/** The builder's own texts. They are loaded once, before it is shown: all its modules read them here. */
import english from "../../../locales/en/builder.json";
import { preferredLanguage, rightToLeft, setDocumentLanguage, translator, type Language } from "../ui/i18n";
import type { Text } from "../ui/locales";

export type TextKey = keyof typeof english;

const files = import.meta.glob(["../../../locales/*/builder.json", "!../../../locales/en/*"], { import: "default" }) as Record<string, () => Promise<Record<TextKey, Text>>>;

let language: Language = "en";
let translate = translator<TextKey>(english, language);

/** Loads the texts of a language and returns the language, or English if they cannot be loaded. */
export async function loadTexts(wanted: Language): Promise<Language> {
  let all: Record<TextKey, Text> = english;
  language = wanted;
  try {
    all = await files[`../../../locales/${wanted}/builder.json`]?.() ?? english;
  } catch {
    language = "en";
  }
  translate = translator(all, language);
  return language;
}

/** Loads the texts in the reader's language, and applies it to the document if the builder is still open. */
export async function loadPreferredTexts(wanted: () => boolean): Promise<void> {
  const found = await loadTexts(preferredLanguage());
  if (wanted()) setDocumentLanguage(found);
}

/** Inserted values keep their own direction, such as a Latin name in an Arabic sentence. */
const isolated = (value: string | number): string | number => (typeof value === "string" && rightToLeft.has(language) ? `\u2068${value}\u2069` : value);

/** A text in the language that was loaded. */
export const t = (key: TextKey, values: Record<string, string | number> = {}): string =>
  translate(key, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, isolated(value)])));

/** Several things, one after the other. */
export const listed = (parts: readonly string[]): string => new Intl.ListFormat(language, { type: "unit" }).format(parts);

export const numeral = (n: number): string => new Intl.NumberFormat(language).format(n);

export const percent = (share: number): string => new Intl.NumberFormat(language, { style: "percent" }).format(share);
