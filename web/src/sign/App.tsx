import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import "./sign.css";
import { ask, Refusal } from "../ui/http";
import { LanguageChoice, Waiting } from "../ui/parts";
import type { Spoken } from "../ui/start";
import { Adopt } from "./Adopt";
import { clearDraft, emptyDraft, loadDraft, loadReceipt, saveDraft, saveReceipt, type Draft, type Mark, type Receipt } from "./draft";
import { Done } from "./Done";
import type { Look } from "./dwell";
import { Ended, endOf, type End } from "./Ends";
import { arrange, isPicture, type Context, type Field } from "./model";
import { Reader } from "./Reader";
import { Consent, Decline, Identify, Invitation, Review } from "./Steps";

export type HostEvent = "ready" | "viewed" | "consentAccepted" | "signatureApplied" | "completed" | "declined" | "error";

/** Who shows the page: a window of its own, or an application around a frame. */
export interface Host {
  emit: (event: HostEvent, context: Context | null, more?: Record<string, unknown>) => void;
  /** Where the signer may go back to when done. */
  returnUrl?: string;
  /** In a frame a link that ended is a session that ended. */
  framed?: boolean;
}

interface Props extends Spoken {
  /** The signer token; its calls are made below /v1/signing/. */
  token: string;
  host: Host;
}

/** The signing of one signer, from the link to the receipt. */
export function Sign({ token, host, speech, choose }: Props) {
  const { t } = speech;
  const base = `/v1/signing/${encodeURIComponent(token)}`;
  const [context, setContext] = useState<Context | null>(null);
  const [end, setEnd] = useState<End | null>(null);
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const [adopting, setAdopting] = useState<Field | null>(null);
  const [reviewing, setReviewing] = useState(false);
  const [declining, setDeclining] = useState(false);
  const [online, setOnline] = useState(navigator.onLine);
  const read = useMemo<ReadonlySet<string>>(() => new Set(draft.read), [draft.read]);
  const ready = useRef(false);
  const language = useRef(speech.language);
  language.current = speech.language;
  const control = useRef<{ go?: (target: Field | string) => void; finish?: () => Promise<void> }>({}).current;

  const load = useCallback(async () => {
    setEnd(null);
    try {
      const c = arrange(await ask<Context>(`${base}?language=${language.current}`));
      setDraft(loadDraft(c));
      setContext(c);
      document.title = c.subject ?? c.documents[0]?.name ?? "Countersign";
      if (!ready.current) host.emit("ready", c);
      ready.current = true;
    } catch (e) {
      const kept = e instanceof Refusal && e.status === 410 ? loadReceipt(token) : null;
      if (kept) {
        setReceipt(kept);
        return;
      }
      const found = endOf(e, host.framed) ?? "offline";
      setEnd(found);
      host.emit("error", null, { code: e instanceof Refusal ? e.code : "unreachable" });
    }
  }, [base]);
  useEffect(() => { void load(); }, [load]);

  useEffect(() => {
    const change = () => setOnline(navigator.onLine);
    addEventListener("online", change);
    addEventListener("offline", change);
    return () => {
      removeEventListener("online", change);
      removeEventListener("offline", change);
    };
  }, []);

  // A draft belongs to an open signing: what was answered is not kept.
  const open = context !== null && !receipt && !end;
  // In the same turn as it is shown: what the signer sees as done is kept.
  useLayoutEffect(() => { if (open) saveDraft(context, draft); }, [draft]);

  /** Refusals that end the signing end it; others are the caller's to tell. */
  const guarded = async <T,>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (e) {
      host.emit("error", context, { code: e instanceof Refusal ? e.code : "unreachable" });
      const found = endOf(e, host.framed);
      if (e instanceof Refusal && found && (e.status === 401 || e.status === 410) && !["otp_required", "consent_required"].includes(e.code)) {
        setReviewing(false);
        setDeclining(false);
        setEnd(found);
      }
      throw e;
    }
  };

  // The disclosure is shown in the language of the page, as long as it is asked for.
  useEffect(() => {
    if (!open || context.consentGiven || context.consent.language === speech.language) return;
    let stale = false;
    ask<Context>(`${base}?language=${speech.language}`).then(({ consent }) => { if (!stale) setContext((c) => c && { ...c, consent }); }, () => undefined);
    return () => { stale = true; };
  }, [speech.language]);

  const identified = !context?.requiresOtpVerification || context.otpVerified;
  const reading = open && identified && context.consentGiven;
  const viewing = open && identified;
  useEffect(() => { if (viewing) host.emit("viewed", context); }, [viewing]);

  if (receipt) {
    return <Narrow speech={speech} choose={choose}><Done receipt={receipt} speech={speech} />{host.returnUrl && <p><a class="button" href={host.returnUrl} target="_top" rel="noreferrer">{t("embedDone")}</a></p>}</Narrow>;
  }
  if (end) return <Narrow speech={speech} choose={choose}><Ended end={end} speech={speech} onRetry={() => void load()} /></Narrow>;
  if (!context) return <Waiting text={t("loading")} />;

  const finishWith = (r: Receipt) => {
    clearDraft(context);
    saveReceipt(token, r);
    setReviewing(false);
    setDeclining(false);
    setReceipt(r);
    scrollTo(0, 0);
    host.emit(r.outcome === "signed" ? "completed" : "declined", context, host.returnUrl ? { returnUrl: host.returnUrl } : undefined);
  };
  const receiptOf = (outcome: Receipt["outcome"], at: string | null, token?: string): Receipt => ({
    outcome, at, token, envelopeId: context.envelopeId, subject: context.subject, senderName: context.senderName, signerName: context.signerName,
    maskedEmail: context.maskedEmail, documents: context.documents.map((d) => ({ name: d.name, sha256: d.sha256 })),
  });
  const decline = () => guarded(async () => {
    await ask(`${base}/decline`, { body: { reason: draft.reason.trim() || null } });
    finishWith(receiptOf("declined", null));
  });
  const declineDialog = declining && (
    <Decline sender={context.senderName} reason={draft.reason} speech={speech} onReason={(reason) => setDraft((d) => ({ ...d, reason }))} decline={decline} onClose={() => setDeclining(false)} />
  );
  const banner = !online && <p class="banner" role="alert">{t("offline")}</p>;

  if (!reading) {
    return (
      <Narrow speech={speech} choose={choose} onDecline={() => setDeclining(true)}>
        {banner}
        <Invitation context={context} speech={speech} />
        {!identified
          ? <Identify context={context} speech={speech}
              request={() => guarded(async () => { await ask(`${base}/otp/request`, { method: "POST" }); })}
              verify={(code) => guarded(async () => { await ask(`${base}/otp/verify`, { body: { code } }); await load(); })} />
          : <Consent context={context} speech={speech} agree={() => guarded(async () => {
              try {
                await ask(`${base}/consent`, { body: { version: context.consent.version } });
              } catch (e) {
                if (!(e instanceof Refusal && e.code === "consent_given")) throw e;
              }
              host.emit("consentAccepted", context);
              setContext({ ...context, consentGiven: true });
              scrollTo(0, 0);
            })} />}
        {declineDialog}
      </Narrow>
    );
  }

  const setValue = (f: Field, value: string, day?: string) => {
    setDraft((d) => ({ ...d, values: { ...d.values, [f.id]: value }, days: day === undefined ? d.days : { ...d.days, [f.id]: day } }));
    if (isPicture(f.type) && value) host.emit("signatureApplied", context, { fieldId: f.id });
  };
  const onPicture = (f: Field) => {
    const mark = f.type === "signature" ? draft.signature : draft.initials;
    if (!mark) setAdopting(f);
    else if (!draft.values[f.id]) setValue(f, mark.picture);
  };
  const adopt = (f: Field, mark: Mark) => {
    setDraft((d) => {
      const before = f.type === "signature" ? d.signature : d.initials;
      // A changed signature is changed wherever the old one was applied.
      const values = { ...d.values, [f.id]: mark.picture };
      for (const other of context.fields) {
        if (other.type === f.type && before && d.values[other.id] === before.picture) values[other.id] = mark.picture;
      }
      return { ...d, values, ...(f.type === "signature" ? { signature: mark } : { initials: mark }) };
    });
    setAdopting(null);
    host.emit("signatureApplied", context, { fieldId: f.id });
  };
  const sign = () => guarded(async () => {
    await control.finish?.();
    const fields = context.fields.map((f) => {
      const value = draft.values[f.id] ?? "";
      if (isPicture(f.type)) return { fieldId: f.id, signatureImageBase64: value ? value.slice(value.indexOf(",") + 1) : null };
      return { fieldId: f.id, textValue: f.type === "checkbox" ? String(value === "true") : value };
    });
    const label = draft.signature?.fontLabel ?? null;
    try {
      const done = await ask<{ envelopeStatus: string; signedAt: string; receiptToken?: string }>(`${base}/sign`, { body: { fields, fontLabel: label }, key: draft.signKey });
      finishWith(receiptOf("signed", done.signedAt, done.receiptToken));
    } catch (e) {
      // A refused try is over: the next one is another act. One that got no answer is repeated as it was.
      if (e instanceof Refusal) setDraft((d) => ({ ...d, signKey: emptyDraft().signKey }));
      // The answer to an earlier try was lost on its way.
      if (e instanceof Refusal && e.code === "already_signed") finishWith(receiptOf("signed", null));
      else throw e;
    }
  });
  const saved: Mark | null = context.savedSignatureB64 ? { picture: `data:image/png;base64,${context.savedSignatureB64}`, fontLabel: context.savedSignatureFontLabel } : null;

  return (
    <div class="reading">
      <header class="top noprint">
        <div class="what">
          <span class="quiet small">{t("asksYou", { sender: context.senderName })}</span>
          <h1><bdi>{context.subject ?? context.documents[0]?.name}</bdi></h1>
        </div>
        <LanguageChoice speech={speech} onChoose={choose} />
        <button type="button" class="plain small" onClick={() => setDeclining(true)}>{t("decline")}</button>
      </header>
      {banner}
      <Reader context={context} values={draft.values} days={draft.days} read={read} speech={speech} control={control}
        urlOf={(id) => `${base}/documents/${id}`}
        sendLook={async (look: Look, leaving) => { await ask(`${base}/page-view`, { body: look, keepalive: leaving }); }}
        onRead={(key) => setDraft((d) => (d.read.includes(key) ? d : { ...d, read: [...d.read, key] }))}
        onValue={setValue} onPicture={onPicture} onChange={setAdopting} onReview={() => setReviewing(true)} />
      {adopting && (
        <Adopt kind={adopting.type as "signature" | "initial"} signerName={context.signerName} saved={saved} t={t}
          onAdopt={(m) => adopt(adopting, m)} onClose={() => setAdopting(null)} />
      )}
      {reviewing && (
        <Review context={context} values={draft.values} read={read} speech={speech} sign={sign}
          onGo={(target) => { setReviewing(false); setTimeout(() => control.go?.(target)); }} onClose={() => setReviewing(false)} />
      )}
      {declineDialog}
    </div>
  );
}

function Narrow({ speech, choose, onDecline, children }: Spoken & { onDecline?: () => void; children: ComponentChildren }) {
  return (
    <main class="narrow">
      {children}
      <footer class="pagefoot noprint">
        {onDecline ? <button type="button" class="bare small" onClick={onDecline}>{speech.t("decline")}</button> : <span />}
        <LanguageChoice speech={speech} onChoose={choose} />
      </footer>
    </main>
  );
}
