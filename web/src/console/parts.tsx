import { createContext, type ComponentChildren } from "preact";
import { useContext, useRef, useState } from "preact/hooks";
import { Dialog, ErrorText } from "../ui/parts";
import { errorText, query, useKey } from "./api";
import { t, type TextKey } from "./texts";

const tones: Record<string, string> = {
  completed: "good", delivered: "good", signed: "good", active: "good", declined: "bad", voided: "bad", expired: "bad", failed: "bad", failing: "bad", gone: "bad", email_refused: "bad",
};

/** The labels of the statuses, roles and kinds of the API. */
const named: Partial<Record<string, TextKey>> = {
  draft: "statusDraft", sent: "statusSent", in_progress: "statusInProgress", sealing: "statusSealing", completed: "statusCompleted", declined: "statusDeclined", voided: "statusVoided", expired: "statusExpired",
  pending: "statusPending", delivered: "statusDelivered", signed: "statusSigned", active: "statusActive", paused: "statusPaused", failed: "statusFailed", failing: "statusFailing", gone: "statusGone",
  queued: "statusQueued", running: "statusRunning", cancelled: "statusCanceled", viewed: "statusViewed", email_refused: "statusEmailRefused", archived: "statusArchived",
  invitation: "mailInvitation", reminder: "mailReminder", copy_notice: "mailCopyNotice", closed: "mailClosed", deletion: "mailDeletion", webhook_disabled: "mailWebhook", notice: "mailNotice",
  viewer: "roleViewer", support: "roleSupport", sender: "roleSender", admin: "roleAdmin",
};

/**
 * The labels of the kinds of recipients and the identity checks. The recipient kind "viewer" is unrelated to the user
 * role of the same name.
 */
const kinds: Partial<Record<string, TextKey>> = {
  signer: "kindSigner", approver: "kindApprover", viewer: "kindViewer", in_person: "kindInPerson", copy: "kindCopy", witness: "kindWitness", email_otp: "checkEmail", sms_otp: "checkSMS", none: "checkNone",
};

/** Returns the label of a kind of recipient or an identity check of the API. */
export const recipientKind = (kind: string): string => { const key = kinds[kind]; return key ? t(key) : kind.replaceAll("_", " "); };

const mailKinds: Partial<Record<string, TextKey>> = {
  invitation: "mailInvitation", reminder: "mailReminder", copy_notice: "mailCopyNotice", completed: "mailCompleted", closed: "mailClosed", deletion: "mailDeletion", webhook_disabled: "mailWebhookDisabled", notice: "mailNotice",
};

/** Returns the label of a kind of email of the API. */
export const mailKind = (kind: string): string => { const key = mailKinds[kind]; return key ? t(key) : kind.replaceAll("_", " "); };

/** Returns the label of a status, role or kind of the API. Underscores in an unknown value are replaced by spaces. */
export const nameOf = (value: string): string => { const key = named[value]; return key ? t(key) : value.replaceAll("_", " "); };

export const Badge = ({ children }: { children: string }) => <span class={`badge ${tones[children] ?? ""}`}>{nameOf(children)}</span>;

interface ActionResult { bad: boolean; text: string }

const ResultText = ({ result }: { result: ActionResult | null }) => <span class={`small told ${result?.bad ? "bad" : ""}`} role="status">{result?.text}</span>;

const RowResult = createContext<((result: ActionResult | null) => void) | null>(null);

/**
 * A row of buttons. The result of an action is displayed below the row in reserved space, so that no button moves.
 */
export function ActionRow({ children }: { children: ComponentChildren }) {
  const [result, setResult] = useState<ActionResult | null>(null);
  return (
    <div class="acts">
      <div class="row"><RowResult.Provider value={setResult}>{children}</RowResult.Provider></div>
      <ResultText result={result} />
    </div>
  );
}

/**
 * Returns whether an operation is in progress, and a function that starts one. The function does nothing while another
 * operation is in progress, so a second click has no effect.
 */
export function useBusy(): [boolean, (work: () => Promise<unknown>) => Promise<void>] {
  const [busy, setBusy] = useState(false);
  const run = async (work: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    try {
      await work();
    } finally {
      setBusy(false);
    }
  };
  return [busy, run];
}

type KeyedWork = (key: string) => Promise<unknown>;

/**
 * A button that performs an action at the service and displays the result. The property work is a function that
 * receives the Idempotency-Key of the action. If it returns no text to display, the text in the property done is
 * displayed. The name distinguishes several buttons with the same label.
 */
export function ActionButton({ label, name, done, work, tone = "plain", disabled }: { label: string; name?: string; done?: string; work: KeyedWork; tone?: string; disabled?: boolean }) {
  const [busy, run] = useBusy();
  const once = useKey();
  const [own, setOwn] = useState<ActionResult | null>(null);
  const setRowResult = useContext(RowResult);
  const setResult = setRowResult ?? setOwn;
  const act = async () => {
    setResult(null);
    try {
      const said = await once(work);
      const text = typeof said === "string" ? said : done;
      setResult(text ? { bad: false, text } : null);
    } catch (e) {
      setResult({ bad: true, text: errorText(e) });
    }
  };
  return (
    <span class="act">
      <button type="button" class={`${tone} small`} aria-label={name} disabled={disabled} aria-disabled={busy} onClick={() => void run(act)}>{label}</button>
      {!setRowResult && <ResultText result={own} />}
    </span>
  );
}

/**
 * A dialog with a form. It closes when the work succeeds, and displays the error otherwise. The property work is a
 * function that receives the Idempotency-Key of the action.
 */
export function FormDialog({ title, label, tone = "", work, other, onClose, children }: { title: string; label: string; tone?: string; work: KeyedWork; /** An alternative action on the entered values. */ other?: { label: string; work: KeyedWork }; onClose: () => void; children: ComponentChildren }) {
  const [problem, setProblem] = useState("");
  const [busy, run] = useBusy();
  const once = useKey();
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    setProblem("");
    void run(() => once(other && (e.submitter as HTMLButtonElement | null)?.value === "other" ? other.work : work).then(onClose, (x: unknown) => setProblem(errorText(x))));
  };
  return (
    <Dialog label={title} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <h2>{title}</h2>
        {children}
        <ErrorText text={problem} />
        <div class="row end"><button type="button" class="bare" onClick={onClose}>{t("cancel")}</button>{other && <button class="plain" value="other" aria-disabled={busy}>{other.label}</button>}<button class={tone} aria-disabled={busy}>{label}</button></div>
      </form>
    </Dialog>
  );
}

/** A secret that is displayed only once. */
export function SecretNotice({ label, secret, onKept }: { label: string; secret: string; onKept: () => void }) {
  return (
    <div class="notice stack" role="status">
      <p><strong>{label}</strong> {t("secretOnce")}</p>
      <p class="mono secret" tabIndex={0} aria-label={label}>{secret}</p>
      <div class="row"><ActionButton label={t("copy")} done={t("copied")} work={() => navigator.clipboard.writeText(secret)} /><button type="button" class="small" onClick={onKept}>{t("secretStored")}</button></div>
    </div>
  );
}

/** Creates a signing secret with 256 random bits. */
export function makeSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}

/** Requests confirmation of an action that cannot be undone, and optionally a reason. */
export function Confirm({ title, text, label, reason, work, onClose }: { title: string; text: string; label: string; reason?: string; work: (reason: string, key: string) => Promise<unknown>; onClose: () => void }) {
  const [why, setWhy] = useState("");
  return (
    <FormDialog title={title} label={label} tone="bad" work={(key) => work(why, key)} onClose={onClose}>
      <p>{text}</p>
      {reason && <div><label for="why">{reason}</label><textarea id="why" maxLength={1000} value={why} onInput={(e) => setWhy(e.currentTarget.value)} /></div>}
    </FormDialog>
  );
}

export function ErrorNotice({ text }: { text: string }) {
  return text ? <p class="notice bad" role="alert" dir="auto">{text}</p> : null;
}

/** A table that scrolls within its own box if it is wider than the screen. */
export function Table({ label, head, children }: { label: string; head: string[]; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table><thead><tr>{head.map((h) => <th key={h} scope="col">{h}</th>)}</tr></thead><tbody>{children}</tbody></table>
    </div>
  );
}

/** The cursor of the preceding page, for each page that was reached by paging forward. "" represents the first page. */
const previous = new Map<string, string>();

/**
 * Buttons to the previous and next pages, or nothing if the list has only one page. After a reload, or if the page
 * was opened from a link, the previous page is unknown, and the first button leads to the first page instead.
 */
export function Pager({ cursor, next, stale, onPage, labels = [t("newer"), t("older")] }: {
  cursor: string; next: string | null; /** The property next does not belong to the current page yet. */ stale: boolean; onPage: (cursor: string) => void; labels?: [string, string];
}) {
  if (!cursor && !next) return null;
  const before = previous.get(cursor);
  const older = (): void => {
    if (!next || stale) return;
    previous.set(next, cursor);
    onPage(next);
  };
  return (
    <nav class="row pager" aria-label={t("pages")}>
      <button type="button" class="plain small" disabled={!cursor} onClick={() => onPage(before ?? "")}>{cursor && before === undefined ? t("firstPage") : labels[0]}</button>
      <button type="button" class="plain small" disabled={!next} onClick={older}>{labels[1]}</button>
    </nav>
  );
}

/** The labels of an envelope. Each label links to the list of envelopes with that label. */
export function LabelList({ labels }: { labels?: string[] }) {
  if (!labels?.length) return null;
  return <ul class="labels" aria-label={t("labels")}>{labels.map((l) => <li key={l}><a class="badge" href={`#/envelopes?${query({ label: l })}`}><bdi>{l}</bdi></a></li>)}</ul>;
}

/**
 * Returns the rows of a list that is reloaded. The row with the focus is kept at the end even if newer rows have moved
 * it to the next page. Otherwise, keyboard users could never get past a list to which rows are added. The row's `tr`
 * must have the id in `data-id`.
 */
export function useFocusedRow<T extends { id: string }>(rows: readonly T[]): readonly T[] {
  const shown = useRef(rows);
  const focused = document.activeElement?.closest<HTMLElement>("tr[data-id]")?.dataset["id"];
  const kept = rows.some((row) => row.id === focused) ? undefined : shown.current.find((row) => row.id === focused);
  shown.current = kept ? [...rows, kept] : rows;
  return shown.current;
}
