import type { en } from "./en";

/** A text, or its plural forms by CLDR category. */
export type Text = string | Partial<Record<Intl.LDMLPluralRule, string>>;
export type Key = keyof typeof en;
/** All texts of the pages in one language. */
export type Words = Record<Key, Text>;
