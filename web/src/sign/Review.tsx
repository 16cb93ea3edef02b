import { useState } from "preact/hooks";
import { FileNotices, type FileActions } from "./FileEntry";
import { Finished, type FetchFinished } from "./Finished";
import { ApiError } from "../ui/http";
import type { Localization, Translate } from "../ui/i18n";
import { Dialog, Title } from "../ui/parts";
import { isChoice, isFixed, isPicture, pageKey, unreadPages, type Context, type Doc, type Field, type FilledField, type Values } from "./model";
import type { Target } from "./Reader";
import { textFor, type RecipientKind } from "./roles";
import { errorText } from "./Steps";

interface Props {
  context: Context;
  names: Map<string, string>;
  values: Values;
  /** The fields that still require an entry, and the problems with existing entries. */
  toDo: Field[];
  problems: ReadonlyMap<string, string>;
  read: ReadonlySet<string>;
  /** Values added by others that this signer has not seen yet. */
  news: readonly FilledField[];
  files: FileActions;
  speech: Localization;
  sign: () => Promise<void>;
  /** Absent in a preview, because nothing is sealed there. */
  fetchFinished?: FetchFinished;
  onGo: (target: Target) => void;
  onClose: () => void;
}

/** Displays the missing entries or, if none are missing, the entries to be signed, and signs them. */
export function Review({ context, names, values, toDo: missing, problems, read, news, files, speech, sign, fetchFinished, onGo, onClose }: Props) {
  const { t } = speech;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string[]>([]);
  const unread = unreadPages(context, read);
  const sending = context.fields.some((f) => files.state(f).busy);
  const complete = missing.length === 0 && unread.length === 0;
  const title = t(complete ? "reviewTitle" : "reviewMissing");
  const submit = async () => {
    if (busy) return;
    setBusy(true);
    setProblem([]);
    try {
      await sign();
    } catch (e) {
      setBusy(false);
      if (e instanceof ApiError && e.code === "values_changed") return; // the list of new values informs the signer
      const fields = e instanceof ApiError ? Object.values(e.errors).flat() : [];
      setProblem(fields.length ? [t("notAccepted"), ...fields] : [errorText(e, t, context.senderName)]);
    }
  };
  return (
    <Dialog label={title} onClose={onClose}>
      <Title level={2}>{title}</Title>
      {news.length > 0 && <AddedValues news={news} kind={context.kind} t={t} onGo={onGo} />}
      {!complete && (
        <ul class="missing">
          {missing.map((f) => (
            <li key={f.id}><bdi>{names.get(f.id)}</bdi>{problems.has(f.id) && <span class="small">: {problems.get(f.id)}</span>} <button type="button" class="bare small" onClick={() => onGo(f)}>{t("goThere")}</button></li>
          ))}
          {unread.length > 0 && (
            <li>{t("pagesLeft", { n: unread.length })} <button type="button" class="bare small" onClick={() => onGo(pageKey(unread[0]!.doc.documentId, unread[0]!.page))}>{t("goThere")}</button></li>
          )}
        </ul>
      )}
      <FileNotices fields={context.fields} names={names} files={files} t={t} onGo={onGo} />
      {complete && (
        <>
          {context.documents.map((d) => <Entries key={d.documentId} doc={d} context={context} names={names} values={values} speech={speech} onGo={onGo} />)}
          {news.length === 0 && !sending && fetchFinished && <Finished context={context} fetchPage={fetchFinished} t={t} />}
          {!fetchFinished && context.fields.length > 0 && <p class="quiet small">{t("finishedNotInPreview")}</p>}
          {context.kind !== "viewer" && <p class="small">{t(textFor(context.kind, "agreeBySigning"))}</p>}
        </>
      )}
      <div class="notice bad" role="alert">{problem.map((p) => <p key={p}>{p}</p>)}</div>
      <div class="row end">
        <button type="button" class="bare" onClick={onClose}>{t("cancel")}</button>
        <button type="button" id="sign" disabled={!complete || sending || news.length > 0} aria-disabled={busy} onClick={() => void submit()}>{t(busy && !context.kind ? "signing" : textFor(context.kind, "sign"))}</button>
      </div>
    </Dialog>
  );
}

/** The values added by other signers since the last visit, with a button that leads to the first of them. */
export function AddedValues({ news, kind, t, onGo }: { news: readonly FilledField[]; kind?: RecipientKind; t: Translate; onGo: (f: FilledField) => void }) {
  const who = [...new Set(news.map((f) => `\u2068${f.signerName}\u2069`))].join(", ");
  return (
    <div class="notice news" role="alert">
      <p>{t(textFor(kind, "hasAdded"), { name: who })}</p>
      <button type="button" class="plain small" onClick={() => onGo(news[0]!)}>{t("lookAtIt")}</button>
    </div>
  );
}

/** The fields of a document, on as few lines as possible. The same signature on many pages takes up only one line. */
function Entries({ doc, context, names, values, speech, onGo }: { doc: Doc; speech: Localization } & Pick<Props, "context" | "names" | "values" | "onGo">) {
  const { t, locale } = speech;
  // For a group of radio options, only the selected option is included.
  const fields = context.fields.filter((f) => f.documentId === doc.documentId && (f.type !== "radio" || values[f.id]));
  const lists = new Intl.ListFormat(locale, { type: "unit", style: "short" });
  const rows: { key: string; fields: Field[] }[] = [];
  for (const f of fields) {
    const value = values[f.id] ?? "";
    const key = f.label || f.type === "radio" || !(isPicture(f.type) || f.type === "checkbox") ? f.id : `${f.type} ${value}`;
    const row = rows.find((r) => r.key === key);
    if (row) row.fields.push(f);
    else rows.push({ key, fields: [f] });
  }
  return (
    <section class="reviewed">
      <h3><bdi>{doc.name}</bdi> <span class="quiet">{t("pages", { n: doc.pageCount })}</span></h3>
      <dl class="values">
        {rows.map(({ key, fields: [f, ...more] }) => (
          <div key={key}>
            <dt>
              {f!.label?.trim() || f!.group ? <bdi>{f!.label?.trim() || f!.group}</bdi> : t(f!.type)}
              <span class="quiet small">{t("onPages", { n: 1 + more.length, pages: lists.format(pageRanges([f!, ...more])) })}</span>
            </dt>
            <dd><Value f={f!} value={values[f!.id] ?? ""} t={t} /></dd>
            <dd><button type="button" class="bare small" aria-label={`${t(isFixed(f!) ? "goThere" : "change")}: ${names.get(f!.id) ?? ""}`} onClick={() => onGo(f!)}>{t(isFixed(f!) ? "goThere" : "change")}</button></dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Returns the pages of fields as text, with ranges for consecutive pages: "1–3", "5". */
function pageRanges(fields: Field[]): string[] {
  const pages = [...new Set(fields.map((f) => f.page))].sort((a, b) => a - b);
  const out: [number, number][] = [];
  for (const p of pages) {
    const last = out.at(-1);
    if (last && last[1] === p - 1) last[1] = p;
    else out.push([p, p]);
  }
  return out.map(([a, b]) => (a === b ? String(a) : `${a}–${b}`));
}

function Value({ f, value, t }: { f: Field; value: string; t: Translate }) {
  if (f.type === "radio") return <bdi class="written">{f.option}</bdi>;
  if (isChoice(f.type)) return <>{t(value ? "checked" : "unchecked")}</>;
  if (f.type === "signed_date") return <span class="quiet">{t("signedDateHint")}</span>;
  if (!value.trim()) return <span class="quiet">{t("empty")}</span>;
  if (isPicture(f.type)) return <img src={value} alt={t("filled")} />;
  return <bdi class="written">{value}</bdi>;
}
