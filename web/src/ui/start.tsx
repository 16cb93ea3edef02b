import { render, type ComponentType } from "preact";
import { useState } from "preact/hooks";
import "./base.css";
import { preferred, speak, type Language, type Speech } from "./i18n";

export interface Spoken {
  speech: Speech;
  choose: (l: Language) => void;
}

function Root({ first, Page }: { first: Speech; Page: ComponentType<Spoken> }) {
  const [speech, setSpeech] = useState(first);
  return <Page speech={speech} choose={(l) => void speak(l, true).then(setSpeech)} />;
}

/** Shows a page in the language of its reader. */
export async function start(Page: ComponentType<Spoken>): Promise<void> {
  const first = await speak(preferred());
  render(<Root first={first} Page={Page} />, document.getElementById("app")!);
}

/** The token is the part of the path behind the page's name. */
export const tokenFromPath = (): string => location.pathname.split("/")[2] ?? "";
