import names from "../../../locales/languages.json";
import pages from "../../../locales/en/pages.json";

/** A message, or its plural forms by CLDR category. */
export type Text = string | Partial<Record<Intl.LDMLPluralRule, string>>;
export type Key = keyof typeof pages;
/** All messages of the pages in one language. English is the reference. */
export type Words = Record<Key, Text>;

/** The names of the languages, each in its own language. */
export const languages = names;
export type Language = keyof typeof names;

export const english: Words = pages;

// There is one file for each language, which is loaded on demand. A test of package locales checks that each file
// contains every message.
const files = import.meta.glob(["../../../locales/*/pages.json", "!../../../locales/en/*"], { import: "default" }) as Record<string, () => Promise<Words>>;

/** Loads the messages of the pages. Throws an error if the file cannot be loaded. */
export async function loadPages(language: Language): Promise<Words> {
  return await files[`../../../locales/${language}/pages.json`]?.() ?? english;
}
