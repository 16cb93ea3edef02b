/** The builder's own texts. They are loaded once, before it is shown: all its modules read them here. */
import english from "../../../locales/en/builder.json";
import { catalogue } from "../ui/texts";

export type TextKey = keyof typeof english;

export const { load: loadTexts, t, listed, numeral, percent } = catalogue<TextKey>(english, import.meta.glob(["../../../locales/*/builder.json", "!../../../locales/en/*"], { import: "default" }));
