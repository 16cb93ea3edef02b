import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import "./sign.css";
import { Viewer } from "../pages/viewer";
import { ApiError } from "../ui/http";
import { chosenLanguage, languageOf } from "../ui/i18n";
import { LanguageChoice, Loading } from "../ui/parts";
import { paint } from "../ui/theme";
import type { LocalizedProps } from "../ui/start";
import { Adopt } from "./Adopt";
import { Client } from "./client";
import { Done } from "./Done";
import { Delegate, Delegated } from "./Delegate";
import { clearDraft, emptyDraft, loadDraft, saveDraft, type Draft, type AdoptedSignature } from "./draft";
import type { PageView } from "./pageviews";
import { EndPage, endStateOf, type EndState } from "./EndPage";
import { HandOver, isHosted, Witnessing } from "./HandOver";
import { Identify } from "./Identify";
import { Narrow } from "./Frame";
import { isTooLarge, useFileStates, type FileActions } from "./FileEntry";
import { useFitCheck } from "./fitcheck";
import { fieldsToDo, problemsOf, refusalsIn, type Refusals } from "./formats";
import { SenderFoot, SenderLogo, type Branding } from "./Look";
import { changedWith, sortFields, fieldNames, isFixed, isIdentified, isPicture, pageKey, shownContext, withPrefilled, type Attached, type CodeState, type Context, type Field, type FilledField } from "./model";
import { fittingScale, Reader, type ReaderControl } from "./Reader";
import { findOutcome, loadReceipt, newReceipt, receiptOf, saveReceipt, type Outcome, type Receipt } from "./receipt";
import { AddedValues, Review } from "./Review";
import { textFor } from "./roles";
import { watchShown } from "./shown";
import { Consent, Contact, Decline, Invitation, StepIndicator } from "./Steps";

export type HostEvent = "ready" | "viewed" | "consentAccepted" | "signatureApplied" | "completed" | "declined" | "handedOver" | "delegated" | "error";

/** The container of the page: a window of its own, or an application with a frame. */
export interface Host {
  emit: (event: HostEvent, context: Context | null, more?: Record<string, unknown>) => void;
  /** Where the signer may go back to when done. */
  returnUrl?: string;
  /** In a frame a link that ended is a session that ended. */
  framed?: boolean;
  /** The application around the frame has chosen the colour. */
  themed?: boolean;
}

interface Props extends LocalizedProps {
  /** The signer token. Its requests go to paths below /v1/signing/. */
  token: string;
  /** The storage key of a framed page, which may have no cookies. */
  session?: string;
  host: Host;
}

/** The signing of one signer, from the link to the receipt. */
export function Sign({ token, session, host, speech, choose }: Props) {
  const { t } = speech;
  const client = useMemo(() => new Client(token, session ? `countersign:session:${session}` : null), [token]);
  const viewer = useMemo(() => new Viewer((id, page) => client.pagePath(id, page), () => client.headers()), [client]);
  const [context, setContext] = useState<Context | null>(null);
  const [end, setEnd] = useState<{ end: EndState; outcome: Outcome | null } | null>(null);
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const [news, setNews] = useState<readonly FilledField[]>([]);
  const [adopting, setAdopting] = useState<Field | null>(null);
  const [reviewing, setReviewing] = useState(false);
  const [declining, setDeclining] = useState(false);
  const [delegating, setDelegating] = useState(false);
  const [delegatedTo, setDelegatedTo] = useState<string | null>(null);
  const [confirmAgain, setConfirmAgain] = useState(false);
  const [files, setFiles] = useState<readonly Attached[]>([]);
  const fileStates = useFileStates(t);
  const [refused, setRefused] = useState<Refusals>({});
  const [handed, setHanded] = useState(false);
  const [branding, setBranding] = useState<Branding | null>(null);
  const [online, setOnline] = useState(navigator.onLine);
  const read = useMemo<ReadonlySet<string>>(() => new Set(draft.read), [draft.read]);
  const names = useMemo(() => (context ? fieldNames(context, t) : new Map<string, string>()), [context?.fields, context?.documents, t]);
  // The current values: with prefilled content in fields that the signer has not changed, and without removed files.
  const values = useMemo(() => {
    if (!context) return draft.values;
    const all: Record<string, string> = { ...withPrefilled(context, draft.values) };
    for (const f of context.fields) if (f.type === "attachment" && !files.some((a) => a.attachmentId === all[f.id])) all[f.id] = "";
    return all;
  }, [context?.fields, draft.values, files]);
  const visible = useMemo(() => context && shownContext(context, values), [context, values]);
  const shownValues = useMemo(() => {
    const names: Record<string, string> = {};
    for (const a of files) if (values[a.fieldId] === a.attachmentId) names[a.fieldId] = a.name;
    return { ...values, ...names };
  }, [values, files]);
  const ready = useRef(false);
  const language = useRef(speech.language);
  language.current = speech.language;
  const control = useRef<ReaderControl>({}).current;
  const fetchContext = async () => sortFields(await client.ask<Context>(`?language=${language.current}`));

  /** Applies the entries of others. Pages with new entries have to be read again. */
  const take = (d: Draft, filled: readonly FilledField[]): { draft: Draft; fresh: FilledField[] } => {
    const fresh = filled.filter((f) => !d.seen.includes(f.fieldId));
    if (fresh.length === 0) return { draft: d, fresh };
    const changed = new Set(fresh.map((f) => pageKey(f.documentId, f.page)));
    return { draft: { ...d, seen: filled.map((f) => f.fieldId), read: d.read.filter((key) => !changed.has(key)) }, fresh };
  };
  const showFilled = ({ filled, shown }: Pick<Context, "filled" | "shown">) => {
    const taken = take(draftNow.current, filled);
    setDraft(taken.draft);
    setNews((n) => [...n, ...taken.fresh]);
    setContext((c) => c && { ...c, filled, shown });
  };
  const draftNow = useRef(draft);
  draftNow.current = draft;
  const enteredBy = useRef(""); // the signer of the draft, by id; before the code is verified nothing was entered

  const look = (b: Branding | undefined) => {
    setBranding(b ?? null);
    if (!host.themed) paint(b?.primaryColor);
  };
  const logo = branding?.logo ? `${client.base}/logo` : null;

  /**
   * Shows the page for an error that ends the signing. Returns true if the signer has answered, and shows the receipt.
   */
  const showEnd = async (e: unknown): Promise<boolean> => {
    const over = e instanceof ApiError && [401, 409, 410].includes(e.status);
    const outcome = over ? await findOutcome(client) : null;
    if (outcome) look(outcome.branding);
    const kept = over ? loadReceipt(token) : null;
    const known = outcome ? receiptOf(outcome, kept) : over && e.status === 410 ? kept : null;
    if (known) setReceipt(known);
    else setEnd({ end: endStateOf(e, host.framed) ?? "offline", outcome });
    return known !== null;
  };

  const load = useCallback(async () => {
    setEnd(null);
    try {
      const c = await fetchContext();
      look(c.branding);
      const wished = chosenLanguage() ? null : languageOf(c.language);
      if (wished && wished !== language.current) choose(wished, false);
      const found = await loadDraft(c);
      // This page's draft is newer than the stored one, and some browsers store nothing for a framed page.
      const kept = enteredBy.current === c.signerId ? draftNow.current : found;
      if (isIdentified(c)) enteredBy.current = c.signerId;
      const taken = take(kept ?? emptyDraft(), c.filled);
      setDraft(taken.draft);
      // A returning signer sees which values were added since. For a new signer all values are new.
      setNews(kept && kept.read.length > 0 ? taken.fresh : []);
      setFiles(c.attachments);
      setContext(c);
      document.title = c.subject ?? c.documents[0]?.name ?? "Countersign";
      if (!ready.current) host.emit("ready", c);
      ready.current = true;
    } catch (e) {
      if (!(await showEnd(e))) host.emit("error", null, { code: e instanceof ApiError ? e.code : "unreachable" });
    }
  }, [client]);
  useLayoutEffect(() => { void load(); }, [load]);
  useEffect(() => () => { viewer.close(); client.close(); }, [client]);

  // The first page loads while the signer reads the disclosure.
  const readable = context !== null && (isIdentified(context) || context.readBeforeCode);
  useEffect(() => {
    const first = readable && context.documents[0];
    if (first) viewer.prepare(first.documentId, 1, fittingScale(context, document.documentElement.clientWidth));
  }, [readable]);

  useEffect(() => {
    const change = () => setOnline(navigator.onLine);
    addEventListener("online", change);
    addEventListener("offline", change);
    return () => {
      removeEventListener("online", change);
      removeEventListener("offline", change);
    };
  }, []);

  // A draft is kept only while the signing is open.
  const open = context !== null && !receipt && !end && delegatedTo === null;
  // Saved in the same turn in which it is shown, so that every visible entry is kept. Before the code is verified
  // nothing was entered, and the draft on the device cannot be read: it stays unchanged.
  useLayoutEffect(() => { if (open && isIdentified(context)) saveDraft(context, draft); }, [draft]);

  /** Runs work. An error that ends the signing shows its page; the caller handles all others. */
  const guarded = async <T,>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (e) {
      host.emit("error", context, { code: e instanceof ApiError ? e.code : "unreachable" });
      const found = endStateOf(e, host.framed);
      if (e instanceof ApiError && e.code === "otp_required") {
        // The verification has expired; the entries stay.
        setReviewing(false);
        setConfirmAgain(true);
        setContext((c) => c && { ...c, otpVerified: false, code: null });
      } else if (e instanceof ApiError && found && (e.status === 401 || e.status === 410 || found === "used") && e.code !== "consent_required") {
        setReviewing(false);
        setDeclining(false);
        setDelegating(false);
        await showEnd(e);
      }
      throw e;
    }
  };

  // Loads the disclosure in the language of the page, until the signer has agreed.
  useEffect(() => {
    if (!open || context.consentGiven || context.consent.language === speech.language) return;
    let stale = false;
    fetchContext().then(({ consent }) => { if (!stale) setContext((c) => c && { ...c, consent }); }, () => undefined);
    return () => { stale = true; };
  }, [speech.language]);

  const identified = context !== null && isIdentified(context);
  const reading = open && identified && context.consentGiven;
  // The host opens the link; whatever follows is the signer's own.
  const hosted = context !== null && !reading && isHosted(context) && !handed && !context.otpVerified;
  const viewing = open && identified && !hosted;
  useEffect(() => { if (viewing) host.emit("viewed", context); }, [viewing]);
  useEffect(() => {
    if (!reading || context.shown === null) return;
    return watchShown(client, () => contextNow.current?.shown ?? null, async () => showFilled(await fetchContext()), () => void load());
  }, [reading, client]);
  useFitCheck(client, reading ? context.fields : null, values, t, (misfits) => setRefused((all) => ({ ...all, ...misfits })));
  const contextNow = useRef(context);
  contextNow.current = context;

  const answered = receipt ? <Done receipt={receipt} speech={speech} /> : delegatedTo !== null && <Delegated name={delegatedTo} speech={speech} />;
  if (answered) {
    return <Narrow speech={speech} choose={choose} branding={branding} logo={logo}>{answered}{host.returnUrl && <p><a class="button" href={host.returnUrl} target="_top" rel="noreferrer">{t("embedDone")}</a></p>}</Narrow>;
  }
  if (end) return <Narrow speech={speech} choose={choose} branding={branding} logo={logo}><EndPage end={end.end} outcome={end.outcome} speech={speech} onRetry={() => void load()} /></Narrow>;
  if (!context) return <Loading text={t("loading")} />;

  const returning = host.returnUrl ? { returnUrl: host.returnUrl } : undefined;
  const finishWith = (r: Receipt) => {
    clearDraft(context);
    saveReceipt(token, r);
    setReviewing(false);
    setDeclining(false);
    setReceipt(r);
    scrollTo(0, 0);
    // Shows the awaited signers and the contact once the service returns them.
    void findOutcome(client).then((o) => { const told = o && receiptOf(o, r); if (told) setReceipt(told); });
    host.emit(r.outcome === "signed" ? "completed" : "declined", context, returning);
  };
  const identify = (why?: string) => (
    <Identify context={context} speech={speech} why={why}
      request={() => guarded(async () => (await client.ask<{ code?: CodeState }>("/otp/request", { method: "POST" })).code ?? null)}
      verify={(code) => guarded(async () => {
        client.confirmed((await client.ask<{ sessionToken?: string }>("/otp/verify", { body: { code, bind: true } })).sessionToken);
        setConfirmAgain(false);
        await load();
      })} />
  );
  const decline = () => guarded(async () => {
    try {
      await client.ask("/decline", { body: { reason: draft.reason.trim() || null } });
      finishWith(newReceipt(context, "declined", new Date().toISOString()));
    } catch (e) {
      if (!(e instanceof ApiError && e.code === "already_signed_or_declined")) throw e;
      // The response to an earlier attempt was lost, or another tab has answered.
      const outcome = await findOutcome(client);
      const known = outcome && receiptOf(outcome, null);
      if (!known) throw e;
      finishWith(known);
    }
  });
  const declineDialog = declining && (
    <Decline kind={context.kind} sender={context.senderName} reason={draft.reason} speech={speech} onReason={(reason) => setDraft((d) => ({ ...d, reason }))} decline={decline}
      first={identified ? null : identify(t("declineConfirm"))} onClose={() => setDeclining(false)} />
  );
  const delegateDialog = delegating && (
    <Delegate context={context} client={client} speech={speech} guarded={guarded} first={identified ? null : identify(t("delegateConfirm"))} onClose={() => setDelegating(false)}
      onDone={(name) => {
        clearDraft(context);
        setDelegatedTo(name);
        scrollTo(0, 0);
        host.emit("delegated", context, returning);
      }} />
  );
  const onDelegate = context.mayDelegate ? () => setDelegating(true) : undefined;
  const banner = !online && <p class="banner" role="alert">{t("offline")}</p>;
  const contact = <Contact sender={context.senderName} contact={context.contact} t={t} />;

  if (hosted) {
    return (
      <Narrow speech={speech} choose={choose} branding={branding}>
        {banner}
        <Invitation context={context} logo={logo} speech={speech} />
        <HandOver context={context} speech={speech} onGo={() => { setHanded(true); scrollTo(0, 0); host.emit("handedOver", context); }} />
        {contact}
      </Narrow>
    );
  }
  if (!reading) {
    return (
      <Narrow speech={speech} choose={choose} branding={branding} kind={context.kind} onDecline={() => setDeclining(true)} onDelegate={onDelegate}>
        {banner}
        <StepIndicator context={context} now={identified ? "stepConsent" : "stepConfirm"} t={t} />
        <Invitation context={context} logo={logo} speech={speech} />
        <Witnessing context={context} speech={speech} />
        {!identified
          ? !declining && !delegating && identify(confirmAgain ? t("confirmAgain") : undefined)
          : <Consent context={context} speech={speech} agree={() => guarded(async () => {
              try {
                await client.ask("/consent", { body: { version: context.consent.version } });
              } catch (e) {
                if (!(e instanceof ApiError && e.code === "consent_given")) throw e;
              }
              host.emit("consentAccepted", context);
              setContext({ ...context, consentGiven: true });
              scrollTo(0, 0);
            })} />}
        {contact}
        {declineDialog}
        {delegateDialog}
      </Narrow>
    );
  }

  const setValue = (f: Field, value: string, day?: string) => {
    const changed = changedWith(context, f, value);
    setDraft((d) => ({ ...d, values: { ...d.values, ...changed }, days: day === undefined ? d.days : { ...d.days, ...Object.fromEntries(Object.keys(changed).map((id) => [id, day])) } }));
    if (isPicture(f.type) && value) host.emit("signatureApplied", context, { fieldId: f.id });
  };
  const onPicture = (f: Field): boolean => {
    const mark = f.type === "signature" ? draft.signature : f.type === "initial" ? draft.initials : null;
    if (!mark) {
      setAdopting(f);
      return false;
    }
    if (!draft.values[f.id]) setValue(f, mark.picture);
    return true;
  };
  const adopt = (f: Field, mark: AdoptedSignature) => {
    const change = Boolean(draft.values[f.id]);
    setDraft((d) => {
      const before = f.type === "signature" ? d.signature : f.type === "initial" ? d.initials : null;
      // A changed signature is changed wherever the old one was applied.
      const values = { ...d.values, ...changedWith(context, f, mark.picture) };
      for (const other of context.fields) {
        if (other.type === f.type && before && d.values[other.id] === before.picture) values[other.id] = mark.picture;
      }
      return { ...d, values, ...(f.type === "signature" ? { signature: mark } : f.type === "initial" ? { initials: mark } : {}) };
    });
    setAdopting(null);
    host.emit("signatureApplied", context, { fieldId: f.id });
    // After the dialog has returned the focus.
    if (!change) setTimeout(() => control.advance?.(f));
  };
  const sign = () => guarded(async () => {
    await control.finish?.();
    // Hidden fields and fields that the service fills in are not submitted.
    const fields = (visible ?? context).fields.filter((f) => !isFixed(f)).map((f) => {
      const value = values[f.id] ?? "";
      if (f.type === "attachment") return { fieldId: f.id, attachmentId: value || null };
      if (f.type === "radio") return { fieldId: f.id, textValue: value ? "true" : "" };
      if (isPicture(f.type)) return { fieldId: f.id, signatureImageBase64: value ? value.slice(value.indexOf(",") + 1) : null };
      return { fieldId: f.id, textValue: f.type === "checkbox" ? String(value === "true") : value };
    });
    const body = { fields, fontLabel: draft.signature?.fontLabel ?? null, ...(context.shown === null ? {} : { shown: context.shown }), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone };
    try {
      const done = await client.ask<{ envelopeStatus: string; signedAt: string; receiptToken?: string }>("/sign", { body, key: draft.signKey });
      finishWith(newReceipt(context, "signed", done.signedAt, done.receiptToken));
    } catch (e) {
      if (!(e instanceof ApiError)) throw e; // a request without response is retried unchanged
      // A rejected attempt is over: the next one needs a new key.
      setDraft((d) => ({ ...d, signKey: emptyDraft().signKey }));
      setRefused(refusalsIn(e, fields.map((f) => f.fieldId), shownValues));
      if (e.code === "values_changed") showFilled(e.details as unknown as Pick<Context, "filled" | "shown">);
      if (e.code !== "already_signed") throw e;
      // The response to an earlier attempt was lost.
      const outcome = await findOutcome(client);
      finishWith((outcome && receiptOf(outcome, null)) ?? newReceipt(context, "signed", null));
    }
  });
  const fileActions: FileActions = {
    of: (f) => files.find((a) => a.attachmentId === values[f.id]),
    state: fileStates.of,
    attach: (f, file) => isTooLarge(file) ? Promise.resolve(fileStates.refuse(f, t("fileLarge"))) : fileStates.run(f, () => guarded(async () => {
      const before = files.find((a) => a.attachmentId === values[f.id]);
      const given = await client.attach(f.id, file);
      setFiles((all) => [...all, given]);
      setValue(f, given.attachmentId);
      if (before) await client.detach(before.attachmentId).catch(() => undefined); // an unused file is deleted after a day
      // Moves to the next field, unless the signer has moved on already. When the waiting input closed, the focus went
      // to the page.
      const at = document.activeElement;
      if (document.getElementById(`entry-${f.id}`) && (at === document.body || at?.id === `entry-${f.id}`)) document.getElementById("next")?.focus({ preventScroll: true });
    })),
    left: (f) => { if (files.some((a) => a.attachmentId === values[f.id])) fileStates.forgive(f); },
    detach: (f) => fileStates.run(f, () => guarded(async () => {
      const id = values[f.id];
      setValue(f, "");
      if (id) await client.detach(id);
    })),
    open: (a) => { void client.openAttachment(a).catch(() => undefined); },
  };
  const problems = problemsOf(visible!.fields, shownValues, draft.days, refused, t, speech.locale);
  const saved: AdoptedSignature | null = context.savedSignatureB64 ? { picture: `data:image/png;base64,${context.savedSignatureB64}`, fontLabel: context.savedSignatureFontLabel } : null;
  const lookAt = (f: FilledField) => {
    setNews([]);
    setReviewing(false);
    setTimeout(() => control.go?.(f));
  };

  return (
    <div class="reading">
      <header class="top noprint">
        <SenderLogo name={context.senderName} logo={logo} />
        <div class="what">
          <span class="quiet small">{t(textFor(context.kind, "asksYou"), { sender: context.senderName })}</span>
          <h1 dir="auto">{context.subject ?? context.documents[0]?.name}</h1>
        </div>
        <StepIndicator context={context} now={reviewing ? "stepSign" : "stepFill"} t={t} />
        <LanguageChoice speech={speech} onChoose={choose} />
        <button type="button" class="plain small" onClick={() => setDeclining(true)}>{t(textFor(context.kind, "decline"))}</button>
        {onDelegate && <button type="button" class="plain small" onClick={onDelegate}>{t(textFor(context.kind, "delegate"))}</button>}
      </header>
      {banner}
      {news.length > 0 && !reviewing && <div class="newsbar noprint"><AddedValues news={news} kind={context.kind} t={t} onGo={lookAt} /></div>}
      <Reader context={visible!} viewer={viewer} names={names} values={shownValues} refused={refused} files={fileActions} days={draft.days} read={read} speech={speech} control={control}
        picture={(sha256) => client.picture(sha256)}
        sendLook={async (look: PageView, leaving) => { await client.ask("/page-view", { body: look, keepalive: leaving }); }}
        onRead={(key) => setDraft((d) => (d.read.includes(key) ? d : { ...d, read: [...d.read, key] }))}
        onValue={setValue} onPicture={onPicture} onChange={setAdopting} onReview={() => setReviewing(true)}>
        <div class="below">{contact}<SenderFoot branding={branding} t={t} /></div>
      </Reader>
      {adopting && (
        <Adopt kind={adopting.type as "signature" | "initial" | "stamp"} signerName={context.signerName} saved={saved} t={t}
          onAdopt={(m) => adopt(adopting, m)} onClose={() => setAdopting(null)} />
      )}
      {reviewing && (
        <Review context={visible!} names={names} values={shownValues} toDo={fieldsToDo(visible!, shownValues, problems)} problems={problems} read={read} news={news} files={fileActions} speech={speech} sign={sign}
          onGo={(target) => {
            if (typeof target !== "string" && "fieldId" in target) {
              lookAt(target);
              return;
            }
            setReviewing(false);
            setTimeout(() => control.go?.(target));
          }} onClose={() => setReviewing(false)} />
      )}
      {declineDialog}
      {delegateDialog}
    </div>
  );
}
