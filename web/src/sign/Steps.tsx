import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal, Unreachable } from "../ui/http";
import type { Speech, Translate } from "../ui/i18n";
import { Dialog, Icon, Title } from "../ui/parts";
import { isPicture, unreadPages, missingFields, pageKey, type Context, type Field, type Values } from "./model";

/** What went wrong, in words for the signer. */
export function inWords(e: unknown, t: Translate, sender: string): string {
  if (e instanceof Unreachable) return t(navigator.onLine ? "unreachable" : "offline");
  if (!(e instanceof Refusal)) return t("wentWrong", { message: e instanceof Error ? e.message : String(e) });
  switch (e.code) {
    case "otp_incorrect": case "validation_error": return t("codeWrong");
    case "otp_rate_limited": return t("codeTooMany", { n: Math.max(1, Math.ceil(e.retryAfter / 60)) });
    case "otp_locked": return t("codeLocked", { sender });
    case "otp_not_sent": return t("codeNotSent");
    case "rate_limited": return t("busyText");
  }
  return t("wentWrong", { message: e.message });
}

export function Invitation({ context, speech }: { context: Context; speech: Speech }) {
  const { t, locale } = speech;
  return (
    <header class="lead">
      <p class="quiet">{t("asksYou", { sender: context.senderName })}</p>
      <h1><bdi>{context.subject ?? context.documents[0]?.name ?? t("documents")}</bdi></h1>
      {context.message && <blockquote dir="auto">{context.message}</blockquote>}
      <ul class="doclist">
        {context.documents.map((d) => <li key={d.documentId}><Icon name="file" size={18} /><span><bdi>{d.name}</bdi> <span class="quiet">{t("pages", { n: d.pageCount })}</span></span></li>)}
      </ul>
      {context.expiresAt && <p class="quiet small">{t("until", { date: new Date(context.expiresAt).toLocaleString(locale, { dateStyle: "long", timeStyle: "short" }) })}</p>}
    </header>
  );
}

interface IdentifyProps {
  context: Context;
  speech: Speech;
  request: () => Promise<void>;
  verify: (code: string) => Promise<void>;
}

/** Asks for the one-time code. */
export function Identify({ context, speech, request, verify }: IdentifyProps) {
  const { t } = speech;
  const sms = context.authMethod === "sms_otp";
  const address = (sms ? context.maskedPhone : context.maskedEmail) ?? "";
  const [sent, setSent] = useState(false);
  const [busy, setBusy] = useState(false);
  const [wait, setWait] = useState(0);
  const [wrong, setWrong] = useState(0);
  const [code, setCode] = useState("");
  const [notice, setNotice] = useState<{ bad: boolean; text: string } | null>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (wait <= 0) return;
    const timer = setTimeout(() => setWait(wait - 1), 1000);
    return () => clearTimeout(timer);
  }, [wait]);
  useEffect(() => { if (sent) input.current?.focus(); }, [sent]);

  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setNotice(null);
    try {
      await work();
    } catch (e) {
      setNotice({ bad: true, text: inWords(e, t, context.senderName) });
      if (e instanceof Refusal && e.code === "otp_incorrect") {
        setWrong(wrong + 1);
        if (wrong + 1 >= 3) setNotice({ bad: true, text: t("codeBurnt") });
        setCode("");
        input.current?.focus();
      }
    } finally {
      setBusy(false);
    }
  };
  const send = () => attempt(async () => {
    await request();
    setSent(true);
    setWrong(0);
    setCode("");
    setWait(30);
    setNotice({ bad: false, text: t("codeSent", { address }) });
  });
  const check = (value: string) => attempt(() => verify(value));
  return (
    <section class="card">
      <Title level={2}>{t("identifyTitle")}</Title>
      <p>{t(sms ? "identifySMS" : "identifyMail", { address: `\u2068${address}\u2069` })}</p>
      {!sent && <button type="button" disabled={busy} onClick={() => void send()}>{t("sendCode")}</button>}
      {sent && (
        <form class="stack" onSubmit={(e) => { e.preventDefault(); if (code.length === 6) void check(code); }}>
          <div>
            <label for="code">{t("codeLabel")}</label>
            <input ref={input} id="code" class="code" dir="ltr" inputMode="numeric" autocomplete="one-time-code" pattern="[0-9]{6}" required maxLength={6} value={code}
              aria-describedby="code-notice" aria-invalid={notice?.bad ?? false}
              onInput={(e) => {
                const digits = e.currentTarget.value.normalize("NFKC").replace(/\D/g, "").slice(0, 6);
                e.currentTarget.value = digits;
                setCode(digits);
                if (digits.length === 6 && !busy) void check(digits);
              }} />
          </div>
          <div class="row">
            <button disabled={busy || code.length !== 6}>{t("confirm")}</button>
            <button type="button" class="bare" disabled={busy || wait > 0} onClick={() => void send()}>{wait > 0 ? t("sendAnotherIn", { n: wait }) : t("sendAnother")}</button>
          </div>
        </form>
      )}
      <p id="code-notice" class={`notice ${notice?.bad ? "bad" : ""}`} role={notice?.bad ? "alert" : "status"}>{notice?.text}</p>
    </section>
  );
}

/** Shows the disclosure and takes the consent. The text is shown as it is recorded. */
export function Consent({ context, speech, agree }: { context: Context; speech: Speech; agree: () => Promise<void> }) {
  const { t } = speech;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const give = async () => {
    setBusy(true);
    setProblem("");
    try {
      await agree();
    } catch (e) {
      setProblem(inWords(e, t, context.senderName));
      setBusy(false);
    }
  };
  return (
    <section class="card">
      <Title level={2}>{t("consentTitle")}</Title>
      <div class="legal" lang={context.consent.language} dir="auto">{context.consent.text.split(/\n\n+/).map((p) => <p key={p} dir="auto">{p}</p>)}</div>
      <p class="quiet small">{t("consentVersion", { version: context.consent.version })}</p>
      <p class="notice bad" role="alert">{problem}</p>
      <button type="button" disabled={busy} onClick={() => void give()}>{t("agree")}</button>
    </section>
  );
}

interface ReviewProps {
  context: Context;
  values: Values;
  read: ReadonlySet<string>;
  speech: Speech;
  sign: () => Promise<void>;
  onGo: (target: Field | string) => void;
  onClose: () => void;
}

/** Says what is missing, or shows what will be signed and signs it. */
export function Review({ context, values, read, speech, sign, onGo, onClose }: ReviewProps) {
  const { t } = speech;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string[]>([]);
  const missing = missingFields(context, values);
  const unread = unreadPages(context, read);
  const ready = missing.length === 0 && unread.length === 0;
  const title = t(ready ? "reviewTitle" : "reviewMissing");
  const submit = async () => {
    setBusy(true);
    setProblem([]);
    try {
      await sign();
    } catch (e) {
      const fields = e instanceof Refusal ? Object.values(e.errors).flat() : [];
      setProblem(fields.length ? [t("notAccepted"), ...fields] : [inWords(e, t, context.senderName)]);
      setBusy(false);
    }
  };
  return (
    <Dialog label={title} onClose={onClose}>
      <h2>{title}</h2>
      {!ready && (
        <ul class="missing">
          {missing.map((f) => (
            <li key={f.id}>{t("fieldName", { type: t(f.type), page: f.page })} <button type="button" class="bare small" onClick={() => onGo(f)}>{t("goThere")}</button></li>
          ))}
          {unread.length > 0 && (
            <li>{t("pagesLeft", { n: unread.length })} <button type="button" class="bare small" onClick={() => onGo(pageKey(unread[0]!.doc.documentId, unread[0]!.page))}>{t("goThere")}</button></li>
          )}
        </ul>
      )}
      {ready && (
        <>
          <dl class="values">
            {context.fields.map((f) => (
              <div key={f.id}>
                <dt>{t("fieldName", { type: t(f.type), page: f.page })}</dt>
                <dd><Value f={f} value={values[f.id] ?? ""} t={t} /></dd>
              </div>
            ))}
          </dl>
          <p class="small">{t("agreeBySigning")}</p>
        </>
      )}
      <div class="notice bad" role="alert">{problem.map((p) => <p key={p}>{p}</p>)}</div>
      <div class="row end">
        <button type="button" class="bare" onClick={onClose}>{t("goBack")}</button>
        <button type="button" id="sign" disabled={!ready || busy} onClick={() => void submit()}>{t(busy ? "signing" : "sign")}</button>
      </div>
    </Dialog>
  );
}

function Value({ f, value, t }: { f: Field; value: string; t: Translate }) {
  if (f.type === "checkbox") return <>{t(value ? "checked" : "unchecked")}</>;
  if (!value.trim()) return <span class="quiet">{t("empty")}</span>;
  if (isPicture(f.type)) return <img src={value} alt={t("filled")} />;
  return <bdi class="written">{value}</bdi>;
}

interface DeclineProps {
  sender: string;
  reason: string;
  speech: Speech;
  onReason: (r: string) => void;
  decline: () => Promise<void>;
  onClose: () => void;
}

export function Decline({ sender, reason, speech, onReason, decline, onClose }: DeclineProps) {
  const { t } = speech;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      await decline();
    } catch (x) {
      setProblem(inWords(x, t, sender));
      setBusy(false);
    }
  };
  return (
    <Dialog label={t("declineTitle")} onClose={onClose}>
      <form class="stack" onSubmit={(e) => void submit(e)}>
        <h2>{t("declineTitle")}</h2>
        <p>{t("declineText", { sender })}</p>
        <div>
          <label for="reason">{t("declineReason")}</label>
          <textarea id="reason" dir="auto" maxLength={1000} value={reason} onInput={(e) => onReason(e.currentTarget.value)} />
        </div>
        <p class="notice bad" role="alert">{problem}</p>
        <div class="row end">
          <button type="button" class="bare" onClick={onClose}>{t("goBack")}</button>
          <button class="bad" disabled={busy}>{t("declineNow")}</button>
        </div>
      </form>
    </Dialog>
  );
}
