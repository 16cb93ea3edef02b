import { rightToLeft, translator, type Language } from "./i18n";
import type { Text } from "./locales";

/** The messages of one part of the pages, with one file for each language, and the related formatting functions. */
interface Catalogue<K extends string> {
  /** Loads the messages of a language. Returns that language, or English if the messages cannot be loaded. */
  load: (wanted: Language) => Promise<Language>;
  /** Returns the most recently loaded language. */
  language: () => Language;
  /**
   * Returns the BCP 47 tag for dates and numbers. It includes the browser's region if the browser uses the same
   * language.
   */
  locale: () => string;
  /** Returns a message in the loaded language. */
  t: (key: K, values?: Record<string, string | number>) => string;
  /** Joins several strings into a list in the language's style. */
  listed: (parts: readonly string[]) => string;
  numeral: (n: number) => string;
  percent: (share: number) => string;
}

/**
 * Returns a catalog. The argument files is a map, by path, of functions that load a language's file. English is built
 * in, and messages that are missing in a language are displayed in English.
 */
export function catalogue<K extends string>(english: Record<K, Text>, files: Record<string, () => Promise<unknown>>): Catalogue<K> {
  let language: Language = "en";
  let translate = translator<K>(english, language);
  /** Inserted values, such as a Latin name in an Arabic sentence, keep their own direction. */
  const isolated = (value: string | number): string | number => (typeof value === "string" && rightToLeft.has(language) ? `\u2068${value}\u2069` : value);
  return {
    async load(wanted) {
      let all: Record<K, Text> = english;
      language = "en";
      try {
        const file = Object.entries(files).find(([path]) => path.includes(`/${wanted}/`))?.[1];
        if (file) [all, language] = [{ ...english, ...await file() as Partial<Record<K, Text>> }, wanted];
      } catch {
        // English is used instead.
      }
      translate = translator(all, language);
      return language;
    },
    language: () => language,
    locale: () => navigator.languages.find((tag) => tag.toLowerCase().split("-")[0] === language) ?? language,
    t: (key, values = {}) => translate(key, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, isolated(value)]))),
    listed: (parts) => new Intl.ListFormat(language, { type: "unit" }).format(parts),
    numeral: (n) => new Intl.NumberFormat(language).format(n),
    percent: (share) => new Intl.NumberFormat(language, { style: "percent" }).format(share),
  };
}
