import { useEffect, useState } from "preact/hooks";
import type { Localization } from "../ui/i18n";
import type { Doc } from "./model";

type Kinds = Record<string, string>;

// The certificate uses the same messages for the changes.
const files = import.meta.glob("../../../locales/*/certificate.json", { import: "preparedKinds" }) as Record<string, () => Promise<Kinds>>;

/**
 * Lists the content that the service removed from a file when the sender uploaded it. The list is empty if the file is
 * unchanged.
 */
export function Changes({ doc, speech }: { doc: Doc; speech: Localization }) {
  const { t, language, locale } = speech;
  const [kinds, setKinds] = useState<Kinds | null>(null);
  const changes = doc.changes ?? [];
  useEffect(() => {
    let stale = false;
    if (changes.length > 0) void files[`../../../locales/${language}/certificate.json`]?.().then((found) => { if (!stale) setKinds(found); }, () => undefined);
    return () => { stale = true; };
  }, [language, doc.documentId]);
  if (!kinds) return null;
  const named = [...new Set(changes.map((c) => {
    const kind = kinds[c.kind] ?? c.kind;
    // The detail contains the signers' names.
    return c.kind === "signatures_removed" && c.detail ? `${kind} (\u2068${c.detail}\u2069)` : kind;
  }))];
  return <p class="changes quiet small">{t("removedFromFile", { list: new Intl.ListFormat(locale, { type: "conjunction" }).format(named) })}</p>;
}
