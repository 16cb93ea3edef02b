import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../ui/http";
import { latinDigits } from "../ui/digits";
import type { Localization } from "../ui/i18n";
import { Title } from "../ui/parts";
import { errorText } from "./Steps";
import type { CodeState, Context } from "./model";

interface Props {
  context: Context;
  speech: Localization;
  /** The reason why the code is requested now, if it is not obvious. */
  why?: string;
  request: () => Promise<CodeState | null>;
  verify: (code: string) => Promise<void>;
}

const pause = 30_000; // in milliseconds, before another code can be requested, unless the service specifies the time

const secondsUntil = (time: string | null | undefined): number => (time ? Math.max(0, Math.ceil((Date.parse(time) - Date.now()) / 1000)) : 0);
const counts = (c: CodeState | null): boolean => secondsUntil(c?.liveUntil) > 0 && c?.triesLeft !== 0;

/** Requests the one-time code. A code that was sent before a reload remains valid. */
export function Identify({ context, speech, why, request, verify }: Props) {
  const { t, locale } = speech;
  const sms = context.authMethod === "sms_otp";
  const address = `\u2068${(sms ? context.maskedPhone : context.maskedEmail) ?? ""}\u2069`;
  const [state, setState] = useState<CodeState | null>(context.code);
  const [sent, setSent] = useState(counts(context.code));
  const [busy, setBusy] = useState(false);
  const [wait, setWait] = useState(secondsUntil(context.code?.requestableAt));
  const [wrong, setWrong] = useState(0);
  const [code, setCode] = useState("");
  const [notice, setNotice] = useState<{ bad: boolean; text: string } | null>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (wait <= 0) return;
    const timer = setTimeout(() => setWait(state?.requestableAt ? secondsUntil(state.requestableAt) : wait - 1), 1000);
    return () => clearTimeout(timer);
  }, [wait]);
  useLayoutEffect(() => { if (sent) input.current?.focus(); }, [sent]);

  const attempt = async (work: () => Promise<void>) => {
    if (busy) return;
    setBusy(true);
    setNotice(null);
    try {
      await work();
    } catch (e) {
      setNotice({ bad: true, text: errorText(e, t, context.senderName) });
      if (e instanceof ApiError && e.code === "otp_incorrect") {
        const tries = typeof e.details.triesLeft === "number" ? e.details.triesLeft : 2 - wrong;
        setWrong(wrong + 1);
        setState((s) => s && { ...s, triesLeft: tries });
        setNotice({ bad: true, text: tries > 0 ? `${t("codeWrong")} ${t("triesLeft", { n: tries })}` : t("codeBurnt") });
        setCode("");
        input.current?.focus();
      }
    } finally {
      setBusy(false);
    }
  };
  const send = () => attempt(async () => {
    const now = await request();
    setState(now);
    setSent(true);
    setWrong(0);
    setCode("");
    setWait(now ? secondsUntil(now.requestableAt) : pause / 1000);
    setNotice({ bad: false, text: t("codeSent", { address }) });
    input.current?.focus(); // "Send another" is disabled for a while
  });
  const check = (value: string) => attempt(() => verify(value));
  return (
    <section class="card">
      <Title level={2}>{t("identifyTitle")}</Title>
      {why && <p>{why}</p>}
      <p>{sent ? t("codeWhere", { address }) : t(sms ? "identifySMS" : "identifyMail", { address })}</p>
      {state?.locked && <p class="notice bad">{t("codeLocked", { sender: context.senderName })}</p>}
      {!sent && !state?.locked && (
        <button type="button" disabled={wait > 0} aria-disabled={busy} onClick={() => void send()}>{wait > 0 ? t("sendAnotherIn", { n: wait }) : t("sendCode")}</button>
      )}
      {sent && !state?.locked && (
        <form class="stack" onSubmit={(e) => { e.preventDefault(); if (code.length === 6) void check(code); }}>
          <div>
            <label for="code">{t("codeLabel")}</label>
            <input ref={input} id="code" class="code" dir="ltr" inputMode="numeric" autocomplete="one-time-code" pattern="[0-9]{6}" required maxLength={6} value={code}
              aria-describedby="code-state code-notice" aria-invalid={notice?.bad ?? false}
              onInput={(e) => {
                const digits = latinDigits(e.currentTarget.value).replace(/\D/g, "").slice(0, 6);
                e.currentTarget.value = digits;
                setCode(digits);
                if (digits.length === 6 && !busy) void check(digits);
              }} />
            <p id="code-state" class="quiet small">
              {state?.liveUntil && counts(state) && t("codeUntil", { time: new Date(state.liveUntil).toLocaleTimeString(locale, { hour: "numeric", minute: "2-digit" }) })} {state && counts(state) && state.triesLeft !== null && !notice?.bad && t("triesLeft", { n: state.triesLeft })}
            </p>
          </div>
          <div class="row">
            <button disabled={code.length !== 6} aria-disabled={busy}>{t("confirm")}</button>
            <button type="button" class="bare" disabled={wait > 0} aria-disabled={busy} onClick={() => void send()}>{wait > 0 ? t("sendAnotherIn", { n: wait }) : t("sendAnother")}</button>
          </div>
        </form>
      )}
      <p id="code-notice" class={`notice ${notice?.bad ? "bad" : ""}`} role={notice?.bad ? "alert" : "status"}>{notice?.text}</p>
    </section>
  );
}
