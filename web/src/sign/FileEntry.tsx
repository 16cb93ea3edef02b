import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../ui/http";
import { formatBytes, type Localization, type Translate } from "../ui/i18n";
import type { Attached, Field } from "./model";

/** The upload state of a field's file: whether an upload is in progress, or why it failed. */
interface FileState { busy: boolean; problem: string }

const idle: FileState = { busy: false, problem: "" };

/** The actions on the files in attachment fields. Errors are reported in the state of the field. */
export interface FileActions {
  of: (f: Field) => Attached | undefined;
  state: (f: Field) => FileState;
  attach: (f: Field, file: File) => Promise<void>;
  detach: (f: Field) => Promise<void>;
  open: (a: Attached) => void;
  /**
   * Called when the signer leaves the input of a field. If the field still has a file, the error from a rejected
   * replacement is cleared.
   */
  left: (f: Field) => void;
}

const largest = 10 * 2 ** 20; // in bytes

function problemWith(e: unknown, t: Translate): string {
  if (!(e instanceof ApiError)) return t("unreachable");
  if (e.status === 413) return t("fileLarge");
  if (e.code === "too_many_attachments") return t("fileTooMany");
  if (e.code === "scanner_unavailable") return t("fileScan");
  if (e.status === 400) return t("fileType");
  return t("wentWrong", { message: e.message });
}

/**
 * Manages the states of uploads and removals for each field separately, so that the signer can continue with another
 * field while an upload is in progress.
 */
export function useFileStates(t: Translate) {
  const [states, setStates] = useState<Readonly<Record<string, FileState>>>({});
  const busy = useRef(new Set<string>());
  const put = (f: Field, state: FileState) => setStates((all) => ({ ...all, [f.id]: state }));
  return {
    of: (f: Field): FileState => states[f.id] ?? idle,
    fail: (f: Field, problem: string) => put(f, { busy: false, problem }),
    forgive: (f: Field) => setStates((all) => (all[f.id]?.busy ? all : { ...all, [f.id]: idle })),
    run: async (f: Field, work: () => Promise<void>) => {
      if (busy.current.has(f.id)) return;
      busy.current.add(f.id);
      put(f, { busy: true, problem: "" });
      let problem = "";
      try {
        await work();
      } catch (e) {
        // The page has already requested a new code.
        if (!(e instanceof ApiError && e.code === "otp_required")) problem = problemWith(e, t);
      }
      busy.current.delete(f.id);
      put(f, { busy: false, problem });
    },
  };
}

/** The input for an attachment field. It lets the signer select, open and remove a file. */
export function FileEntry({ f, name, speech, files }: { f: Field; name: string; speech: Localization; files: FileActions }) {
  const { t, locale } = speech;
  const { busy, problem } = files.state(f);
  const given = files.of(f);
  const left = useRef(() => {});
  left.current = () => files.left(f);
  useEffect(() => () => left.current(), []);
  return (
    <div class="entry">
      <label for={`entry-${f.id}`}><bdi>{name}</bdi>{f.required ? "" : ` (${t("optional")})`}</label>
      <div class="row">
        <input id={`entry-${f.id}`} type="file" accept="application/pdf,image/jpeg,image/png" disabled={busy} aria-invalid={problem ? true : undefined} aria-describedby="entry-problem entry-hint"
          onChange={(e) => {
            const file = e.currentTarget.files?.[0];
            e.currentTarget.value = "";
            if (file) void files.attach(f, file);
          }} />
        {given && <button type="button" class="bare small" disabled={busy} onClick={() => void files.detach(f)}>{t("remove")}</button>}
        {given && <button type="button" class="plain small" onClick={() => files.open(given)}>{t("openFile", { name: `\u2068${given.name}\u2069` })}</button>}
      </div>
      <p id="entry-hint" class="quiet small hintline" role="status">{busy ? t("uploading") : given ? <><bdi>{given.name}</bdi> · {formatBytes(given.size, locale)}</> : t("fileHint")}</p>
      <p id="entry-problem" class="notice bad" role="alert">{problem}</p>
    </div>
  );
}

export const isTooLarge = (file: File): boolean => file.size > largest;

/** Notices about uploads for these fields that are in progress or have failed. */
export function FileNotices({ fields, names, files, t, onGo }: { fields: readonly Field[]; names: Map<string, string>; files: FileActions; t: Translate; onGo: (f: Field) => void }) {
  const fieldsWithNotice = fields.filter((f) => f.type === "attachment" && (files.state(f).busy || files.state(f).problem));
  return (
    <div class="filenotices" role="status">
      {fieldsWithNotice.map((f) => (
        <p key={f.id} class={files.state(f).busy ? "quiet small" : "notice bad small"}>
          <bdi>{names.get(f.id)}</bdi>: {files.state(f).busy ? t("uploading") : files.state(f).problem} {!files.state(f).busy && <button type="button" class="bare small" onClick={() => onGo(f)}>{t("goThere")}</button>}
        </p>
      ))}
    </div>
  );
}
