import { useEffect, useState } from "preact/hooks";
import type { DraftEditor } from "./draft";
import { typeName, type FoundWarning } from "./model";
import { t } from "./texts";

/** Displays the service's warnings, if any, before the draft is sent. */
export function Warnings({ editor }: { editor: DraftEditor }) {
  const [found, setFound] = useState<FoundWarning[]>([]);
  useEffect(() => {
    let stale = false;
    editor.warnings().then((all) => { if (!stale) setFound(all); }, () => undefined); // the same errors are reported when the draft is sent
    return () => { stale = true; };
  }, [editor]);
  const lines = [...new Set(found.map(lineOf))];
  if (lines.length === 0) return null;
  return (
    <div class="notice warnings" role="status">
      <strong>{t("warningsTitle")}</strong>
      <ul>{lines.slice(0, mostLines).map((line) => <li key={line} dir="auto">{line}</li>)}</ul>
      {lines.length > mostLines && <p class="small">{t("warningsMore", { n: lines.length - mostLines })}</p>}
    </div>
  );
}

const mostLines = 8;

function lineOf({ document, warning, field }: FoundWarning): string {
  const values = { name: field?.label || (field ? typeName(field.type) : ""), page: warning.page ?? 1 };
  if (warning.code === "field_too_small") return t("warnFieldSmall", values);
  if (warning.code === "field_too_large") return t("warnFieldLarge", values);
  if (warning.code === "field_covers_text") return t("warnFieldCovers", values);
  if (warning.code === "pdfa_claim_removed") return t("warnPDFA", { name: document.name });
  return t("warnDocument", { name: document.name });
}
