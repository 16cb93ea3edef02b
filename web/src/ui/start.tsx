import { render, type ComponentType } from "preact";
import { useState } from "preact/hooks";
import "./base.css";
import { preferredLanguage, loadLanguage, type Language, type Localization } from "./i18n";

export interface LocalizedProps {
  speech: Localization;
  /** If chosen is false, the user did not choose the language. */
  choose: (l: Language, chosen?: boolean) => void;
}

function Root({ first, Page }: { first: Localization; Page: ComponentType<LocalizedProps> }) {
  const [speech, setSpeech] = useState(first);
  return <Page speech={speech} choose={(l, chosen = true) => void loadLanguage(l, chosen).then(setSpeech)} />;
}

/** The font is loaded only if the script starts within this time after the navigation, in milliseconds. */
const fastStart = 500;

/**
 * Reports whether the optional font may be loaded. The time that the scripts took is measured, because few browsers
 * report the connection. On a slow phone, the font would delay the first page, and its arrival would move the text.
 */
function isFast(): boolean {
  const { connection } = navigator as Navigator & { connection?: { saveData?: boolean } };
  return !connection?.saveData && performance.now() < fastStart;
}

/** Displays a page in the user's language. */
export async function start(Page: ComponentType<LocalizedProps>): Promise<void> {
  document.documentElement.classList.toggle("fast", isFast());
  const first = await loadLanguage(preferredLanguage());
  render(<Root first={first} Page={Page} />, document.getElementById("app")!);
}

/** Returns the token, which is the part of the path after the page's name. */
export const tokenFromPath = (): string => location.pathname.split("/")[2] ?? "";
