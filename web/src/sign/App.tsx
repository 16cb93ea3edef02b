import { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import "./sign.css";
import { Viewer } from "../pages/viewer";
import { ApiError, newKey } from "../ui/http";
import { chosenLanguage, languageOf } from "../ui/i18n";
import { LanguageChoice, Loading } from "../ui/parts";
import { paint } from "../ui/theme";
import type { LocalizedProps } from "../ui/start";
import { Adopt } from "./Adopt";
import { Client } from "./client";
import { Done } from "./Done";
import { Delegate, Delegated } from "./Delegate";
import { clearDraft, loadDraft, saveDraft, type AdoptedSignature } from "./draft";
import type { PageView } from "./pageviews";
import { EndPage, endStateOf } from "./EndPage";
import { HandOver, Witnessing } from "./HandOver";
import { Identify } from "./Identify";
import { Narrow } from "./Frame";
import { isTooLarge, useFileStates, type FileActions } from "./FileEntry";
import { useFitCheck } from "./fitcheck";
import { fieldsToDo, problemsOf, fieldErrorsOf } from "./formats";
import { SenderFoot, SenderLogo, type Branding } from "./Look";
import { sortFields, fieldNames, isFixed, isIdentified, isPicture, type CodeState, type Context, type Field, type FilledField } from "./model";
import { fittingScale, Reader, type ReaderControl, type Target } from "./Reader";
import { findOutcome, loadReceipt, newReceipt, receiptOf, saveReceipt, type Receipt } from "./receipt";
import { AddedValues, Review } from "./Review";
import { textFor } from "./roles";
import { watchShown } from "./shown";
import { adopted, initial, readableValues, reduce, screenOf, valuesOf, visibleOf } from "./state";
import { Consent, Contact, Decline, Invitation, StepIndicator } from "./Steps";

export type HostEvent = "ready" | "viewed" | "consentAccepted" | "signatureApplied" | "completed" | "declined" | "handedOver" | "delegated" | "error";

/** The container of the page, which is a browser window or an application's frame. */
export interface Host {
  emit: (event: HostEvent, context: Context | null, more?: Record<string, unknown>) => void;
  /** The return address after signing. */
  returnUrl?: string;
  /** The page is in a frame. In a frame, an ended session is reported instead of an ended link. */
  framed?: boolean;
  /** The embedding application has specified the color. */
  themed?: boolean;
  /**
   * Replaces the service when the sender previews the page for a draft. Nothing is stored, either here or at the
   * service.
   */
  preview?: Client;
}

interface Props extends LocalizedProps {
  /** The signer token. It is used in requests to paths below /v1/signing/. */
  token: string;
  /** The storage key for a framed page, because such a page may be unable to use cookies. */
  session?: string;
  host: Host;
}

/** Reports whether the device has a network connection. */
function useOnline(): boolean {
  const [online, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const change = () => setOnline(navigator.onLine);
    addEventListener("online", change);
    addEventListener("offline", change);
    return () => {
      removeEventListener("online", change);
      removeEventListener("offline", change);
    };
  }, []);
  return online;
}

/** The signing session of one signer, from opening the link to the receipt. */
export function Sign({ token, session, host, speech, choose }: Props) {
  const { t } = speech;
  const client = useMemo(() => host.preview ?? new Client(token, session ? `countersign:session:${session}` : null), [token]);
  const viewer = useMemo(() => new Viewer((id, page) => client.pagePath(id, page), () => client.headers()), [client]);
  const [state, dispatch] = useReducer(reduce, undefined, initial);
  const { context, dialog, draft, news, files, fieldErrors, branding, confirmAgain } = state;
  const screen = screenOf(state);
  const fileStates = useFileStates(t);
  const online = useOnline();
  const read = useMemo<ReadonlySet<string>>(() => new Set(draft.read), [draft.read]);
  const names = useMemo(() => (context ? fieldNames(context, t) : new Map<string, string>()), [context?.fields, context?.documents, t]);
  const values = useMemo(() => valuesOf(state), [context?.fields, draft.values, files]);
  const visible = useMemo(() => visibleOf(context, values), [context, values]);
  const shownValues = useMemo(() => readableValues(values, files), [values, files]);
  const ready = useRef(false);
  const prepared = useRef(false);
  const language = useRef(speech.language);
  language.current = speech.language;
  const control = useRef<ReaderControl>({}).current;
  const fetchContext = async () => sortFields(await client.ask<Context>(`?language=${language.current}`));

  const othersEntered = ({ filled, shown }: Pick<Context, "filled" | "shown">) => dispatch({ type: "othersEntered", filled, shown });

  const look = (b: Branding | undefined) => {
    dispatch({ type: "branded", branding: b ?? null });
    if (!host.themed) paint(b?.primaryColor);
  };
  const logo = branding?.logo ? client.logo : null;

  /**
   * Displays the page for an error that ends the signing. If the signer has already signed or declined, it displays
   * the receipt instead, and returns true.
   */
  const showEnd = async (e: unknown): Promise<boolean> => {
    const over = e instanceof ApiError && [401, 409, 410].includes(e.status);
    const outcome = over ? await findOutcome(client) : null;
    if (outcome) look(outcome.branding);
    const kept = over ? loadReceipt(token) : null;
    const known = outcome ? receiptOf(outcome, kept) : over && e.status === 410 ? kept : null;
    dispatch(known ? { type: "answered", receipt: known } : { type: "ended", end: endStateOf(e, host.framed) ?? "offline", outcome });
    return known !== null;
  };

  /** Requests the first page, which loads while the page is laid out and the signer reads the disclosure. */
  const prepareFirst = (c: Context) => {
    const first = c.documents[0];
    if (!first || prepared.current || !(isIdentified(c) || c.readBeforeCode)) return;
    prepared.current = true;
    viewer.prepare(first.documentId, 1, fittingScale(c, document.documentElement.clientWidth));
  };

  const load = useCallback(async () => {
    dispatch({ type: "retried" });
    try {
      const c = await fetchContext();
      prepareFirst(c);
      look(c.branding);
      const wished = (host.preview ? ready.current : chosenLanguage()) ? null : languageOf(c.language);
      if (wished && wished !== language.current) choose(wished, false);
      dispatch({ type: "loaded", context: c, found: host.preview ? null : await loadDraft(c) });
      document.title = c.subject ?? c.documents[0]?.name ?? "Countersign";
      if (!ready.current) host.emit("ready", c);
      ready.current = true;
    } catch (e) {
      if (!(await showEnd(e))) host.emit("error", null, { code: e instanceof ApiError ? e.code : "unreachable" });
    }
  }, [client]);
  useLayoutEffect(() => { void load(); }, [load]);
  useEffect(() => () => { viewer.close(); client.close(); }, [client]);

  // A draft is stored only as long as the envelope can be signed.
  const open = context !== null && !state.over;
  // The draft is saved when it is displayed, so that every visible entry is stored. Before the code is verified,
  // nothing has been entered and the draft on the device cannot be decrypted. Therefore, the draft is not changed.
  useLayoutEffect(() => { if (open && isIdentified(context) && !host.preview) saveDraft(context, draft); }, [draft]);

  /**
   * Performs an operation. For an error that ends the signing, it displays the page for that error. The caller
   * handles all other errors.
   */
  const guarded = async <T,>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (e) {
      host.emit("error", context, { code: e instanceof ApiError ? e.code : "unreachable" });
      const found = endStateOf(e, host.framed);
      if (e instanceof ApiError && e.code === "otp_required") {
        // The verification has expired. The entries are preserved.
        dispatch({ type: "confirmationExpired" });
      } else if (e instanceof ApiError && found && (e.status === 401 || e.status === 410 || found === "used") && e.code !== "consent_required") {
        dispatch({ type: "closed" });
        await showEnd(e);
      }
      throw e;
    }
  };

  // Load the disclosure in the language of the page until the signer has agreed.
  useEffect(() => {
    if (!open || context.consentGiven || context.consent.language === speech.language) return;
    let stale = false;
    fetchContext().then(({ consent }) => { if (!stale) dispatch({ type: "consentRead", consent }); }, () => undefined);
    return () => { stale = true; };
  }, [speech.language]);

  const identified = context !== null && isIdentified(context);
  const reading = screen.at === "reading";
  const viewing = reading || screen.at === "consent";
  useEffect(() => { if (viewing) host.emit("viewed", context); }, [viewing]);
  useEffect(() => {
    if (!viewing || host.preview) return;
    return watchShown(client, () => contextNow.current?.shown ?? null, async () => othersEntered(await fetchContext()), () => void load());
  }, [viewing, client]);
  useFitCheck(client, reading ? screen.context.fields : null, values, t, (misfits) => dispatch({ type: "misfit", misfits }));
  const contextNow = useRef(context);
  contextNow.current = context;

  if (screen.at === "answered" || screen.at === "delegated") {
    return (
      <Narrow speech={speech} choose={choose} branding={branding} logo={logo}>
        {screen.at === "answered" ? <Done receipt={screen.receipt} speech={speech} /> : <Delegated name={screen.to} speech={speech} />}
        {host.returnUrl && <p><a class="button" href={host.returnUrl} target="_top" rel="noreferrer">{t("embedDone")}</a></p>}
      </Narrow>
    );
  }
  if (screen.at === "end") return <Narrow speech={speech} choose={choose} branding={branding} logo={logo}><EndPage end={screen.end} outcome={screen.outcome} speech={speech} onRetry={() => (screen.end === "preview" ? location.reload() : void load())} /></Narrow>;
  if (!context || screen.at === "loading") return <Loading text={t("loading")} />;

  const close = () => dispatch({ type: "closed" });
  const returning = host.returnUrl ? { returnUrl: host.returnUrl } : undefined;
  const finishWith = (r: Receipt) => {
    clearDraft(context);
    saveReceipt(token, r);
    dispatch({ type: "answered", receipt: r });
    scrollTo(0, 0);
    // Adds the remaining signers and the contact to the receipt once the service returns them.
    void findOutcome(client).then((o) => { const receipt = o && receiptOf(o, r); if (receipt) dispatch({ type: "answered", receipt: receipt }); });
    host.emit(r.outcome === "signed" ? "completed" : "declined", context, returning);
  };
  const identify = (why?: string) => (
    <Identify context={context} speech={speech} why={why}
      request={() => guarded(async () => (await client.ask<{ code?: CodeState }>("/otp/request", { method: "POST" })).code ?? null)}
      verify={(code) => guarded(async () => {
        client.confirmed((await client.ask<{ sessionToken?: string }>("/otp/verify", { body: { code, bind: true } })).sessionToken);
        dispatch({ type: "confirmed" });
        await load();
      })} />
  );
  const decline = () => guarded(async () => {
    try {
      await client.ask("/decline", { body: { reason: draft.reason.trim() || null } });
      finishWith(newReceipt(context, "declined", new Date().toISOString()));
    } catch (e) {
      if (!(e instanceof ApiError && e.code === "already_signed_or_declined")) throw e;
      // The response to an earlier attempt was lost, or the signer has signed or declined in another tab.
      const outcome = await findOutcome(client);
      const known = outcome && receiptOf(outcome, null);
      if (!known) throw e;
      finishWith(known);
    }
  });
  const declineDialog = dialog?.name === "decline" && (
    <Decline kind={context.kind} sender={context.senderName} reason={draft.reason} speech={speech} onReason={(reason) => dispatch({ type: "reasoned", reason })} decline={decline}
      first={identified ? null : identify(t("declineConfirm"))} onClose={close} />
  );
  const delegateDialog = dialog?.name === "delegate" && (
    <Delegate context={context} client={client} speech={speech} guarded={guarded} first={identified ? null : identify(t("delegateConfirm"))} onClose={close}
      onDone={(name) => {
        clearDraft(context);
        dispatch({ type: "delegated", to: name });
        scrollTo(0, 0);
        host.emit("delegated", context, returning);
      }} />
  );
  const onDecline = () => dispatch({ type: "opened", dialog: { name: "decline" } });
  const onDelegate = context.mayDelegate ? () => dispatch({ type: "opened", dialog: { name: "delegate" } }) : undefined;
  const banner = !online && <p class="banner" role="alert">{t("offline")}</p>;
  const contact = <Contact sender={context.senderName} contact={context.contact} t={t} />;

  if (screen.at === "handOver") {
    return (
      <Narrow speech={speech} choose={choose} branding={branding}>
        {banner}
        <Invitation context={context} logo={logo} speech={speech} />
        <HandOver context={context} speech={speech} onGo={() => { dispatch({ type: "handedOver" }); scrollTo(0, 0); host.emit("handedOver", context); }} />
        {contact}
      </Narrow>
    );
  }
  if (screen.at !== "reading") {
    return (
      <Narrow speech={speech} choose={choose} branding={branding} kind={context.kind} onDecline={onDecline} onDelegate={onDelegate}>
        {banner}
        <StepIndicator context={context} now={identified ? "stepConsent" : "stepConfirm"} t={t} />
        <Invitation context={context} logo={logo} speech={speech} />
        <Witnessing context={context} speech={speech} />
        {!identified
          ? !dialog && identify(confirmAgain ? t("confirmAgain") : undefined)
          : <Consent context={context} speech={speech} agree={() => guarded(async () => {
              try {
                await client.ask("/consent", { body: { version: context.consent.version } });
              } catch (e) {
                if (!(e instanceof ApiError && e.code === "consent_given")) throw e;
              }
              host.emit("consentAccepted", context);
              dispatch({ type: "consented" });
              scrollTo(0, 0);
            })} />}
        {contact}
        {declineDialog}
        {delegateDialog}
      </Narrow>
    );
  }

  const setValue = (f: Field, value: string, day?: string) => {
    dispatch({ type: "entered", field: f, value, day });
    if (isPicture(f.type) && value) host.emit("signatureApplied", context, { fieldId: f.id });
  };
  const change = (field: Field) => dispatch({ type: "opened", dialog: { name: "adopt", field } });
  const onPicture = (f: Field): boolean => {
    const mark = adopted(draft, f);
    if (!mark) {
      change(f);
      return false;
    }
    if (!draft.values[f.id]) setValue(f, mark.picture);
    return true;
  };
  const adopt = (f: Field, mark: AdoptedSignature) => {
    const replaces = Boolean(draft.values[f.id]);
    dispatch({ type: "adopted", field: f, mark });
    host.emit("signatureApplied", context, { fieldId: f.id });
    // Wait until the dialog has returned the focus.
    if (!replaces) setTimeout(() => control.advance?.(f));
  };
  const submission = () => {
    // Hidden fields, and fields that the sender or the service fills in, are not submitted.
    const fields = (visible ?? context).fields.filter((f) => !isFixed(f)).map((f) => {
      const value = values[f.id] ?? "";
      if (f.type === "attachment") return { fieldId: f.id, attachmentId: value || null };
      if (f.type === "radio") return { fieldId: f.id, textValue: value ? "true" : "" };
      if (isPicture(f.type)) return { fieldId: f.id, signatureImageBase64: value ? value.slice(value.indexOf(",") + 1) : null };
      return { fieldId: f.id, textValue: f.type === "checkbox" ? String(value === "true") : value };
    });
    return { fields, fontLabel: draft.signature?.fontLabel ?? null, ...(context.shown === null ? {} : { shown: context.shown }), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone };
  };
  const sign = () => guarded(async () => {
    await control.finish?.();
    const body = submission();
    try {
      const done = await client.ask<{ envelopeStatus: string; signedAt: string; receiptToken?: string }>("/sign", { body, key: draft.signKey });
      finishWith(newReceipt(context, "signed", done.signedAt, done.receiptToken));
    } catch (e) {
      if (!(e instanceof ApiError)) throw e; // without a response, the same request is retried
      dispatch({ type: "rejected", fieldErrors: fieldErrorsOf(e, body.fields.map((f) => f.fieldId), shownValues), signKey: newKey() });
      if (e.code === "values_changed") othersEntered(e.details as unknown as Pick<Context, "filled" | "shown">);
      if (e.code !== "already_signed") throw e;
      // The response to an earlier attempt was lost.
      const outcome = await findOutcome(client);
      finishWith((outcome && receiptOf(outcome, null)) ?? newReceipt(context, "signed", null));
    }
  });
  const fileActions: FileActions = {
    of: (f) => files.find((a) => a.attachmentId === values[f.id]),
    state: fileStates.of,
    attach: (f, file) => isTooLarge(file) ? Promise.resolve(fileStates.fail(f, t("fileLarge"))) : fileStates.run(f, () => guarded(async () => {
      const before = files.find((a) => a.attachmentId === values[f.id]);
      const given = await client.attach(f.id, file);
      dispatch({ type: "fileAttached", file: given });
      setValue(f, given.attachmentId);
      if (before) await client.detach(before.attachmentId).catch(() => undefined); // an unused file is deleted after a day
      // Move to the next field, unless the signer has already moved elsewhere. When the file input was disabled
      // during the upload, the focus moved to the page.
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
  const problems = problemsOf(visible!.fields, shownValues, draft.days, fieldErrors, t, speech.locale);
  const saved: AdoptedSignature | null = context.savedSignatureB64 ? { picture: `data:image/png;base64,${context.savedSignatureB64}`, fontLabel: context.savedSignatureFontLabel } : null;
  const leaveTo = (target: Target) => {
    close();
    setTimeout(() => control.go?.(target));
  };
  const lookAt = (f: FilledField) => {
    dispatch({ type: "newsSeen" });
    leaveTo(f);
  };

  return (
    <div class="reading">
      <header class="top noprint">
        <SenderLogo name={context.senderName} logo={logo} />
        <div class="what">
          <span class="quiet small">{t(textFor(context.kind, "asksYou"), { sender: context.senderName })}</span>
          <h1 dir="auto">{context.subject ?? context.documents[0]?.name}</h1>
        </div>
        <StepIndicator context={context} now={dialog?.name === "review" ? "stepSign" : "stepFill"} t={t} />
        <LanguageChoice speech={speech} onChoose={choose} />
        <button type="button" class="plain small" onClick={onDecline}>{t(textFor(context.kind, "decline"))}</button>
        {onDelegate && <button type="button" class="plain small" onClick={onDelegate}>{t(textFor(context.kind, "delegate"))}</button>}
      </header>
      {banner}
      {news.length > 0 && dialog?.name !== "review" && <div class="newsbar noprint"><AddedValues news={news} kind={context.kind} t={t} onGo={lookAt} /></div>}
      <Reader context={visible!} viewer={viewer} names={names} values={shownValues} fieldErrors={fieldErrors} files={fileActions} days={draft.days} read={read} speech={speech} control={control}
        picture={(sha256) => client.picture(sha256)}
        download={(doc) => client.openDocument(doc)}
        sendLook={async (look: PageView, leaving) => { await client.ask("/page-view", { body: look, keepalive: leaving }); }}
        onRead={(key) => dispatch({ type: "pageRead", key })}
        onValue={setValue} onPicture={onPicture} onChange={change} onReview={() => dispatch({ type: "opened", dialog: { name: "review" } })}>
        <div class="below">{contact}<SenderFoot branding={branding} t={t} /></div>
      </Reader>
      {dialog?.name === "adopt" && (
        <Adopt kind={dialog.field.type as "signature" | "initial" | "stamp"} signerName={context.signerName} saved={saved} t={t}
          onAdopt={(m) => adopt(dialog.field, m)} onClose={close} />
      )}
      {dialog?.name === "review" && (
        <Review context={visible!} names={names} values={shownValues} toDo={fieldsToDo(visible!, shownValues, problems)} problems={problems} read={read} news={news} files={fileActions} speech={speech} sign={sign}
          fetchFinished={host.preview ? undefined : (documentId, page, level, signal) => client.finishedPage(documentId, page, level, submission(), signal)}
          onGo={(target) => (typeof target !== "string" && "fieldId" in target ? lookAt(target) : leaveTo(target))} onClose={close} />
      )}
      {declineDialog}
      {delegateDialog}
    </div>
  );
}
