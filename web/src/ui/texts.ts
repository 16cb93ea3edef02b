import { rightToLeft, translator, type Language } from "./i18n";
import type { Text } from "./locales";

/** The texts of a part of the pages, one file for each language, and the formats that go with them. */
export interface Catalogue<K extends string> {
  /** Loads the texts of a language and returns the language, or English if they cannot be loaded. */
  load: (wanted: Language) => Promise<Language>;
  /** Returns the language that was loaded last. */
  language: () => Language;
  /** Returns the BCP 47 tag for dates and numbers: the browser's own region where the language is the same. */
  locale: () => string;
  /** Returns a text in the language that was loaded. */
  t: (key: K, values?: Record<string, string | number>) => string;
  /** Writes several things, one after the other. */
  listed: (parts: readonly string[]) => string;
  numeral: (n: number) => string;
  percent: (share: number) => string;
}

/** Returns a catalogue. files loads a language's file by its path, and English is built in. A text that a language lacks is shown in English. */
export function catalogue<K extends string>(english: Record<K, Text>, files: Record<string, () => Promise<unknown>>): Catalogue<K> {
  let language: Language = "en";
  let translate = translator<K>(english, language);
  /** Inserted values keep their own direction, such as a Latin name in an Arabic sentence. */
  const isolated = (value: string | number): string | number => (typeof value === "string" && rightToLeft.has(language) ? `\u2068${value}\u2069` : value);
  return {
    async load(wanted) {
      let all: Record<K, Text> = english;
      language = "en";
      try {
        const file = Object.entries(files).find(([path]) => path.includes(`/${wanted}/`))?.[1];
        if (file) [all, language] = [{ ...english, ...await file() as Partial<Record<K, Text>> }, wanted];
      } catch {
        // English it is
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
