/**
 * The messages of the builder. They are loaded once, before the builder is displayed, and all modules of the builder
 * import them from here.
 */
import english from "../../../locales/en/builder.json";
import { catalogue } from "../ui/texts";

export type TextKey = keyof typeof english;

export const { load: loadTexts, t, listed, numeral, percent } = catalogue<TextKey>(english, import.meta.glob(["../../../locales/*/builder.json", "!../../../locales/en/*"], { import: "default" }));
