import { useState } from "preact/hooks";
import { ApiError } from "../ui/http";
import { formatBytes, type Localization } from "../ui/i18n";
import type { Attached, Field } from "./model";

/** What can be done about the files of attachment fields. */
export interface FileActions {
  of: (f: Field) => Attached | undefined;
  attach: (f: Field, file: File) => Promise<void>;
  detach: (f: Field) => Promise<void>;
  open: (a: Attached) => void;
}

const largest = 10 * 2 ** 20; // bytes

/** Chooses the file of a field, shows it, and takes it away. */
export function FileEntry({ f, name, speech, files }: { f: Field; name: string; speech: Localization; files: FileActions }) {
  const { t, locale } = speech;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const given = files.of(f);
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setProblem("");
    try {
      await work();
    } catch (e) {
      setProblem(problemWith(e));
    }
    setBusy(false);
  };
  const problemWith = (e: unknown): string => {
    if (!(e instanceof ApiError)) return t("unreachable");
    if (e.status === 413) return t("fileLarge");
    if (e.code === "too_many_attachments") return t("fileTooMany");
    if (e.code === "scanner_unavailable") return t("fileScan");
    if (e.status === 400) return t("fileType");
    return t("wentWrong", { message: e.message });
  };
  return (
    <div class="entry">
      <label for={`entry-${f.id}`}><bdi>{name}</bdi>{f.required ? "" : ` (${t("optional")})`}</label>
      <div class="row">
        <input id={`entry-${f.id}`} type="file" accept="application/pdf,image/jpeg,image/png" disabled={busy} aria-invalid={problem ? true : undefined} aria-describedby="entry-problem entry-hint"
          onChange={(e) => {
            const file = e.currentTarget.files?.[0];
            e.currentTarget.value = "";
            if (!file) return;
            if (file.size > largest) setProblem(t("fileLarge"));
            else void run(() => files.attach(f, file));
          }} />
        {given && <button type="button" class="bare small" disabled={busy} onClick={() => void run(() => files.detach(f))}>{t("remove")}</button>}
        {given && <button type="button" class="plain small" onClick={() => files.open(given)}>{t("openFile", { name: `\u2068${given.name}\u2069` })}</button>}
      </div>
      <p id="entry-hint" class="quiet small hintline" role="status">{busy ? t("uploading") : given ? <><bdi>{given.name}</bdi> · {formatBytes(given.size, locale)}</> : t("fileHint")}</p>
      <p id="entry-problem" class="notice bad" role="alert">{problem}</p>
    </div>
  );
}
