import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { ApiError, newKey } from "../ui/http";
import type { Localization } from "../ui/i18n";
import type { Key } from "../ui/locales";
import { Dialog, StatusIcon, Title } from "../ui/parts";
import type { Client } from "./client";
import type { Context } from "./model";
import { textFor } from "./roles";
import { errorText } from "./Steps";

type Member = "name" | "email" | "phone" | "reason";
type Problems = Partial<Record<Member, Key>>;

interface Props {
  context: Context;
  client: Client;
  speech: Localization;
  /** Performs an operation, and ends the signing if the response reports that it has ended. */
  guarded: <T>(work: () => Promise<T>) => Promise<T>;
  /** The identity check that precedes delegation, because only the invited signer can name another person. */
  first: ComponentChildren;
  /** The named person has been invited, and the link can no longer be used. */
  onDone: (name: string) => void;
  onClose: () => void;
}

/** The dialog in which the signer names another person to sign instead. */
export function Delegate({ context, client, speech, guarded, first, onDone, onClose }: Props) {
  const { t } = speech;
  const [entered, setEntered] = useState<Record<Member, string>>({ name: "", email: "", phone: "", reason: "" });
  const [problems, setProblems] = useState<Problems>({});
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(newKey());
  const label = t(textFor(context.kind, "delegate"));
  const byPhone = context.authMethod === "sms_otp";
  const texts: Record<Member, Key> = { name: "delegateName", email: "email", phone: "delegatePhone", reason: "declineReason" };
  const errorKeys: Record<Member, Key> = { name: "badName", email: "delegateEmail", phone: "badPhone", reason: "badReason" };

  const show = (found: Problems) => {
    setProblems(found);
    const wrong = (["name", "email", "phone", "reason"] as const).find((m) => found[m]);
    if (wrong) document.getElementById(`delegate-${wrong}`)?.focus();
    return wrong !== undefined;
  };
  const submit = async (e: Event) => {
    e.preventDefault();
    if (busy) return;
    setProblem("");
    const name = entered.name.trim();
    const email = entered.email.trim();
    const phone = entered.phone.replace(/[\s().-]/g, "");
    const found: Problems = {};
    if (!name) found.name = "badName";
    if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email)) found.email = "badEmail";
    if (byPhone && !/^\+[1-9]\d{6,14}$/.test(phone)) found.phone = "badPhone";
    if (show(found)) return;
    setBusy(true);
    try {
      // If no response arrives, the same request is retried, because the first one may have invalidated the link.
      await guarded(() => client.ask("/delegate", { body: { name, email, reason: entered.reason.trim() || null, ...(byPhone ? { phone } : {}) }, key: key.current }));
      onDone(name);
    } catch (x) {
      setBusy(false);
      if (!(x instanceof ApiError)) {
        setProblem(errorText(x, t, context.senderName));
        return;
      }
      key.current = newKey();
      const named = (Object.keys(errorKeys) as Member[]).filter((m) => x.errors[m]);
      if (named.length) show(Object.fromEntries(named.map((m) => [m, errorKeys[m]])));
      else if (["delegation_not_allowed", "delegation_exhausted", "too_many_replacements"].includes(x.code)) setProblem(t("delegateRefused", { sender: `\u2068${context.senderName}\u2069` }));
      else setProblem(errorText(x, t, context.senderName));
    }
  };
  const shared = (m: Member) => ({
    id: `delegate-${m}`, value: entered[m], "aria-invalid": problems[m] ? true : undefined, "aria-describedby": problems[m] ? `delegate-${m}-problem` : undefined,
    onInput: (e: { currentTarget: { value: string } }) => { const { value } = e.currentTarget; setEntered((all) => ({ ...all, [m]: value })); },
  });
  const row = (m: Member, control: ComponentChildren) => (
    <div>
      <label for={`delegate-${m}`}>{t(texts[m])}</label>
      {control}
      {problems[m] && <p id={`delegate-${m}-problem`} class="notice bad">{t(problems[m])}</p>}
    </div>
  );
  if (first) {
    return (
      <Dialog key="first" label={label} onClose={onClose}>
        {first}
        <div class="row end"><button type="button" class="bare" onClick={onClose}>{t("cancel")}</button></div>
      </Dialog>
    );
  }
  return (
    <Dialog key="delegate" label={label} onClose={onClose}>
      <form class="stack" noValidate onSubmit={(e) => void submit(e)}>
        <Title level={2}>{label}</Title>
        <p>{t("delegateText", { sender: `\u2068${context.senderName}\u2069` })}</p>
        {row("name", <input {...shared("name")} dir="auto" maxLength={255} required autocomplete="off" />)}
        {row("email", <input {...shared("email")} type="email" dir="ltr" maxLength={254} required autocomplete="off" />)}
        {byPhone && row("phone", <input {...shared("phone")} type="tel" dir="ltr" maxLength={40} required autocomplete="off" />)}
        {row("reason", <textarea {...shared("reason")} dir="auto" maxLength={1000} />)}
        <p class="notice bad" role="alert">{problem}</p>
        <div class="row end">
          <button type="button" class="bare" onClick={onClose}>{t("cancel")}</button>
          <button aria-disabled={busy}>{t("delegateNow")}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** The page displayed after delegation. Another person has been invited, and the link can no longer be used. */
export function Delegated({ name, speech }: { name: string; speech: Localization }) {
  const { t } = speech;
  return (
    <section class="card">
      <StatusIcon icon="check" tone="good" />
      <Title>{t("delegatedTitle")}</Title>
      <p>{t("delegatedText", { name: `\u2068${name}\u2069` })}</p>
    </section>
  );
}
