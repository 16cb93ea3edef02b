import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, NetworkError } from "../ui/http";
import { formatMoment, type Localization, type Translate } from "../ui/i18n";
import { Dialog, Icon, Title } from "../ui/parts";
import { SenderLogo } from "./Look";
import { Changes } from "./Changes";
import type { Context } from "./model";
import { textFor, type RecipientKind } from "./roles";

/** Returns the message to display for an error, in words that a signer understands. */
export function errorText(e: unknown, t: Translate, sender: string): string {
  if (e instanceof NetworkError) return t(navigator.onLine ? "unreachable" : "offline");
  if (!(e instanceof ApiError)) return t("wentWrong", { message: e instanceof Error ? e.message : String(e) });
  switch (e.code) {
    case "otp_incorrect": case "validation_error": return t("codeWrong");
    case "otp_rate_limited": return t("codeTooMany", { n: Math.max(1, Math.ceil(e.retryAfter / 60)) });
    case "otp_locked": return t("codeLocked", { sender });
    case "otp_not_sent": return t("codeNotSent");
    case "rate_limited": return t("busyText");
  }
  return t("wentWrong", { message: e.message });
}

/** Names the sender and the request. */
export function Invitation({ context, logo, speech }: { context: Context; logo: string | null; speech: Localization }) {
  const { t, locale } = speech;
  return (
    <header class="lead">
      <p class="sender"><SenderLogo name={context.senderName} logo={logo} /><span>{t(textFor(context.kind, "asksYou"), { sender: `\u2068${context.senderName}\u2069` })}</span></p>
      <h1><bdi>{context.subject ?? context.documents[0]?.name ?? t("documents")}</bdi></h1>
      {context.message && <blockquote><p dir="auto">{context.message}</p></blockquote>}
      <ul class="doclist">
        {context.documents.map((d) => <li key={d.documentId}><Icon name="file" size={18} /><span><bdi>{d.name}</bdi> <span class="quiet">{t("pages", { n: d.pageCount })}</span><Changes doc={d} speech={speech} /></span></li>)}
      </ul>
      {context.expiresAt && <p class="quiet small">{t("until", { date: formatMoment(context.expiresAt, locale) })}</p>}
    </header>
  );
}

/** Names the contact for questions. */
export function Contact({ sender, contact, t }: { sender: string; contact?: string | null; t: Translate }) {
  if (!contact) return <p class="quiet small">{t("askSender", { sender: `\u2068${sender}\u2069` })}</p>;
  const [before, after] = t("askAddress", { sender: `\u2068${sender}\u2069`, address: "\u0000" }).split("\u0000");
  return <p class="quiet small">{before}<a href={`mailto:${contact}`}><bdi>{contact}</bdi></a>{after}</p>;
}

export type Step = "stepConfirm" | "stepConsent" | "stepFill" | "stepSign";

/** The signer's progress. */
export function StepIndicator({ context, now, t }: { context: Context; now: Step; t: Translate }) {
  const all: Step[] = context.requiresOtpVerification ? ["stepConfirm", "stepConsent", "stepFill", "stepSign"] : ["stepConsent", "stepFill", "stepSign"];
  const at = all.indexOf(now);
  return (
    <div class="steps">
      <p class="quiet small">{t("stepOf", { step: at + 1, count: all.length })} <strong>{t(textFor(context.kind, now))}</strong></p>
      <ol aria-label={t("steps")}>
        {all.map((s, i) => <li key={s} class={i <= at ? "past" : ""} aria-current={i === at ? "step" : undefined}><span class="sr">{t(textFor(context.kind, s))}</span></li>)}
      </ol>
    </div>
  );
}

/** Displays the disclosure and records the consent. The displayed text is also the recorded text. */
export function Consent({ context, speech, agree }: { context: Context; speech: Localization; agree: () => Promise<void> }) {
  const { t } = speech;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const give = async () => {
    if (busy) return;
    setBusy(true);
    setProblem("");
    try {
      await agree();
    } catch (e) {
      setProblem(errorText(e, t, context.senderName));
      setBusy(false);
    }
  };
  return (
    <section class="card consent">
      <Title level={2}>{t(textFor(context.kind, "consentTitle"))}</Title>
      <div class="legal" lang={context.consent.language} dir="auto">{context.consent.text.split(/\n\n+/).map((p) => <p key={p} dir="auto">{p}</p>)}</div>
      <p class="quiet small">{t("consentVersion", { version: `\u2066${context.consent.version}\u2069` })}</p>
      <p class="notice bad" role="alert">{problem}</p>
      <p class="ending"><button type="button" aria-disabled={busy} onClick={() => void give()}>{t("agree")}</button></p>
    </section>
  );
}

interface DeclineProps {
  kind?: RecipientKind;
  sender: string;
  reason: string;
  speech: Localization;
  onReason: (r: string) => void;
  decline: () => Promise<void>;
  /**
   * The identity check that precedes declining. Declining ends the envelope for everyone, so only the invited signer
   * may decline.
   */
  first: ComponentChildren;
  onClose: () => void;
}

export function Decline({ kind, sender, reason, speech, onReason, decline, first, onClose }: DeclineProps) {
  const { t } = speech;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const submit = async (e: Event) => {
    e.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await decline();
    } catch (x) {
      setProblem(errorText(x, t, sender));
      setBusy(false);
    }
  };
  if (first) {
    return (
      <Dialog key="first" label={t(textFor(kind, "declineTitle"))} onClose={onClose}>
        {first}
        <div class="row end"><button type="button" class="bare" onClick={onClose}>{t("cancel")}</button></div>
      </Dialog>
    );
  }
  return (
    <Dialog key="decline" label={t(textFor(kind, "declineTitle"))} onClose={onClose}>
      <form class="stack" onSubmit={(e) => void submit(e)}>
        <Title level={2}>{t(textFor(kind, "declineTitle"))}</Title>
        <p>{t("declineText", { sender })}</p>
        <div>
          <label for="reason">{t("declineReason")}</label>
          <textarea id="reason" dir="auto" maxLength={1000} value={reason} onInput={(e) => onReason(e.currentTarget.value)} />
        </div>
        <p class="notice bad" role="alert">{problem}</p>
        <div class="row end">
          <button type="button" class="bare" onClick={onClose}>{t("cancel")}</button>
          <button class="bad" aria-disabled={busy}>{t(textFor(kind, "declineNow"))}</button>
        </div>
      </form>
    </Dialog>
  );
}
