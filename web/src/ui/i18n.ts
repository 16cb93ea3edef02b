import { english, languages, loadPages, type Key, type Language, type Text, type Words } from "./locales";

export { languages, type Language } from "./locales";

/** The languages that are written from right to left. */
export const rightToLeft = new Set<string>(["ar", "he"]);

const remembered = "countersign:language";

/**
 * Returns the language that the user chose earlier. If the user chose none, returns the browser's first supported
 * language, or English if none is supported.
 */
export function preferredLanguage(): Language {
  const wanted = [stored(), ...navigator.languages];
  for (const tag of wanted) {
    const found = languageOf(tag);
    if (found) return found;
  }
  return "en";
}

/** Returns the supported language for a BCP 47 tag, or null if there is none. */
export function languageOf(tag: string | null | undefined): Language | null {
  const base = tag?.toLowerCase().split("-")[0] ?? "";
  return base in languages ? base as Language : null;
}

/** Returns the language that the user chose earlier on these pages. */
export const chosenLanguage = (): Language | null => languageOf(stored());

function stored(): string | null {
  try {
    return localStorage.getItem(remembered);
  } catch {
    return null; // framed pages cannot access storage in some browsers
  }
}

/** Stores the user's choice for all pages. */
export function rememberLanguage(language: Language): void {
  try {
    localStorage.setItem(remembered, language);
  } catch {
    // Storage is not accessible.
  }
}

export type Translate = (key: Key, values?: Record<string, string | number>) => string;

export interface Localization {
  language: Language;
  /** The BCP 47 tag for dates and numbers. It includes the browser's region if the browser uses the same language. */
  locale: string;
  t: Translate;
}

/** Loads a language, applies it to the document, and remembers it if the user has chosen it. */
export async function loadLanguage(language: Language, chosen = false): Promise<Localization> {
  let words: Words;
  try {
    words = await loadPages(language);
  } catch {
    [words, language] = [english, "en"];
  }
  if (chosen) rememberLanguage(language);
  setDocumentLanguage(language);
  const locale = navigator.languages.find((tag) => tag.toLowerCase().split("-")[0] === language) ?? language;
  return { language, locale, t: translator(words, language) };
}

export function setDocumentLanguage(language: Language): void {
  document.documentElement.lang = language;
  document.documentElement.dir = rightToLeft.has(language) ? "rtl" : "ltr";
}

/**
 * Returns a function that returns a language's messages with inserted values. The values are not changed, even if they
 * contain braces.
 */
export function translator<K extends string>(words: Record<K, Text>, language: string): (key: K, values?: Record<string, string | number>) => string {
  const rules = new Intl.PluralRules(language);
  const numbers = new Intl.NumberFormat(language);
  return (key, values = {}) => {
    const text = words[key] ?? "";
    const form = typeof text === "string" ? text : text[rules.select(Number(values.n ?? 0))] ?? text.other ?? "";
    return form.replace(/\{(\w+)\}/g, (place, name: string) => {
      const value = values[name];
      return typeof value === "number" ? numbers.format(value) : value ?? place;
    });
  };
}

/** Formats a time with the name of its time zone. */
export function formatMoment(time: string, locale: string): string {
  return new Date(time).toLocaleString(locale, { year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" });
}

/** Formats a size in bytes. */
export function formatBytes(bytes: number, locale: string): string {
  const big = bytes >= 1e6;
  return new Intl.NumberFormat(locale, { style: "unit", unit: big ? "megabyte" : "kilobyte", maximumFractionDigits: big ? 1 : 0 }).format(bytes / (big ? 1e6 : 1e3));
}
