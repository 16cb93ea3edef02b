import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, NetworkError } from "../ui/http";
import { Dialog, ErrorText } from "../ui/parts";
import { t, type TextKey } from "./texts";

/** Whether this is a page of the console, which offers to sign in again when a session has ended. */
const consolePage = () => location.pathname.startsWith("/console");

/** The messages for common errors. The service describes other errors in English. */
const errorKeys: Partial<Record<string, TextKey>> = { plan_limit_reached: "planLimit", rate_limited: "tooFast", pdf_password_wrong: "passwordDoesNotOpen" };

/** Returns the message for an error. */
export function errorText(e: unknown): string {
  if (e instanceof NetworkError) return t("unreachable");
  if (e instanceof ApiError && e.status === 401) return t(consolePage() ? "notDoneEnded" : "sessionExpired");
  const key = e instanceof ApiError && errorKeys[e.code];
  if (key) return t(key);
  if (e instanceof ApiError) return Object.entries(e.errors).map(([k, v]) => `${k} ${v.join(", ")}`).join("; ") || e.message;
  return e instanceof Error ? e.message : String(e);
}

interface FormProps { title: string; label: string; work: () => Promise<unknown>; onClose: () => void; /** Another action, such as removing the object. */ other?: { label: string; work: () => Promise<unknown> }; children: ComponentChildren }

/** A dialog with a form. It closes when the work succeeds, and displays the error if it fails. */
export function FormDialog({ title, label, work, onClose, other, children }: FormProps) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const run = (what: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    setProblem("");
    what().then(onClose, (x: unknown) => { setProblem(errorText(x)); setBusy(false); });
  };
  return (
    <Dialog label={title} onClose={onClose}>
      <form class="stack" onSubmit={(e) => { e.preventDefault(); run(work); }}>
        <h2>{title}</h2>
        {children}
        <ErrorText text={problem} />
        <div class="row end">{other && <button type="button" class="bare bad-text" aria-disabled={busy} onClick={() => run(other.work)}>{other.label}</button>}<button type="button" class="bare" onClick={onClose}>{t("cancel")}</button><button aria-disabled={busy}>{label}</button></div>
      </form>
    </Dialog>
  );
}
