import type { ComponentChildren } from "preact";
import { formatTime, type CopyRecipient, type Envelope, type Mail, type PreviousSigner, type Signer } from "./api";
import { isClosed, stateOf } from "./state";
import { ActionButton, ActionRow } from "./parts";
import { formatRelative, t, type TextKey } from "./texts";
import { sortable } from "./timeline";

/** The permitted actions for a recipient. An absent action is not permitted. */
export interface PersonActions { remind?: Act; link?: Act; resend?: Act; correct?: () => void; replace?: () => void; copies?: Act }
/** Performs an action. The result may be a message to display. */
type Act = (key: string) => Promise<unknown>;

/** Returns the last email to an awaited recipient if a server has permanently rejected it, or undefined otherwise. */
function failedMail(mails: readonly Mail[], s: Signer): Mail | undefined {
  const since = sortable(s.previous?.at(-1)?.until ?? "");
  const last = mails.filter((m) => m.signerId === s.id && sortable(m.createdAt) > since && (m.sentAt || m.failedAt)).at(-1);
  return last?.failedAt ? last : undefined;
}

/** Returns the time at which a recipient first opened the link, or null. */
const openedAt = (e: Envelope, s: Signer): string | null => e.auditLog.find((x) => x.event === "signer.viewed" && x.actor === `signer:${s.id}` && sortable(x.timestamp) > sortable(s.previous?.at(-1)?.until ?? ""))?.timestamp ?? null;
const invitedAt = (e: Envelope, s: Signer): string | null => [...e.auditLog].reverse().find((x) => x.event === "invitation.sent" && x.detail?.signerId === s.id)?.timestamp ?? null;

/** Reports whether a copy recipient received the files. Before completion, the status "sent" means only a notice. */
const copySent = (e: Envelope, c: CopyRecipient): boolean => e.status === "completed" && c.status === "sent";

/** The steps of an envelope: the recipients with their status, times and available actions. */
export function Progress({ e, actionsOf, copyActions, children }: { e: Envelope; actionsOf: (s: Signer) => PersonActions; copyActions: (c: CopyRecipient) => PersonActions; children?: ComponentChildren }) {
  const mails = e.mails ?? [];
  const undelivered = e.signers.filter((s) => failedMail(mails, s)).map((s) => s.id);
  const orders = [...new Set(e.signers.map((s) => s.routingOrder))].sort((a, b) => a - b);
  return (
    <section class="card">
      <h2>{t("progress")}</h2>
      <ol class="steps">
        {orders.map((order, i) => (
          <li key={order}>
            {orders.length > 1 && <h3 class="small quiet">{t("stepNumber", { step: i + 1 })}</h3>}
            <ul class="people">{e.signers.filter((s) => s.routingOrder === order).map((s) => <Person key={s.id} e={e} s={s} undelivered={undelivered} mail={failedMail(mails, s)} actions={actionsOf(s)} />)}</ul>
          </li>
        ))}
        {(e.copies ?? []).length > 0 && (
          <li>
            <h3 class="small quiet">{t("copies")}</h3>
            <ul class="people">
              {e.copies!.map((c) => (
                <li key={c.id}><i class={`dot ${copySent(e, c) ? "done" : ""}`} aria-hidden="true" />
                  <div><strong><bdi>{c.name}</bdi></strong> <span class="quiet small"><bdi>{c.email}</bdi></span><br /><span class="small">{t(copySent(e, c) ? "copyWasSent" : isClosed(e) ? "copyNever" : "copyAtEnd")}</span><Before previous={c.previous} /><PersonButtons who={c} {...copyActions(c)} replaceWord="replace" /></div></li>
              ))}
            </ul>
          </li>
        )}
      </ol>
      {children}
    </section>
  );
}

const proofs: Record<string, TextKey> = { email_otp: "proofEmail", sms_otp: "proofSms" };
const partKeys: Record<string, TextKey> = { approver: "partApprover", viewer: "partViewer" };

/** Returns a description of the role of a recipient who does not provide an ordinary signature. */
function partOf(s: Signer): string {
  if (s.witnessFor) return t("witnessFor", { role: s.witnessFor });
  if (s.kind === "in_person") return t("inPerson", { name: s.host?.name ?? "", email: s.host?.email ?? "" });
  const key = s.kind && partKeys[s.kind];
  return key ? t(key) : "";
}

function Person({ e, s, undelivered, mail, actions }: { e: Envelope; s: Signer; undelivered: string[]; mail?: Mail; actions: PersonActions }) {
  const { state, text } = stateOf({ status: e.status, undelivered }, s);
  const at = s.signedAt ?? (s.status === "viewed" ? openedAt(e, s) : s.status === "sent" ? invitedAt(e, s) : null);
  const proof = proofs[s.authMethod];
  return (
    <li>
      <i class={`dot ${state}`} aria-hidden="true" />
      <div>
        <strong><bdi>{s.name}</bdi></strong> <span class="quiet small"><bdi>{s.email}</bdi></span><br />
        <span class={`small ${state === "bad" ? "bad-text" : ""}`}>{t(text)}</span>{at && <time class="small quiet" dateTime={at} title={formatTime(at)}> {formatRelative(at)}</time>}
        {(s.role || partOf(s) || proof) && <p class="quiet small meta">{[s.role, partOf(s), proof && t(proof)].filter(Boolean).join(" · ")}</p>}
        {mail && <p class="notice bad small">{t("mailRefusedAt", { time: formatTime(mail.failedAt) })}{mail.error && <> <q dir="auto">{mail.error}</q></>} {!s.signedAt && t(s.host ? "hostAddressWrong" : "addressWrong")}</p>}
        <Before previous={s.previous} />
        <PersonButtons who={s} {...actions} replaceWord="reassign" />
      </div>
    </li>
  );
}

function Before({ previous }: { previous?: PreviousSigner[] }) {
  return <>{previous?.map((p) => <p key={p.until} class="quiet small before">{t("before", { name: p.name, email: p.email, until: formatTime(p.until) })}{p.reason && <> · <bdi>{p.reason}</bdi></>}</p>)}</>;
}

function PersonButtons({ who, replaceWord, remind, link, resend, correct, replace, copies }: { who: { name: string; email: string }; replaceWord: "reassign" | "replace" } & PersonActions) {
  const { name, email } = who;
  return ( // displayed even without actions, because it contains the result of the last one
    <ActionRow>
      {remind && <ActionButton label={t("remind")} name={t("remindName", { name })} work={remind} />}
      {correct && <button type="button" class="plain small" aria-label={t("correctEmailOf", { name })} onClick={correct}>{t("correctEmail")}</button>}
      {replace && <button type="button" class="plain small" aria-label={t(replaceWord === "reassign" ? "reassignName" : "replaceName", { name })} onClick={replace}>{t(replaceWord)}</button>}
      {link && <ActionButton label={t("copyLink")} name={t("copyLinkOf", { name })} done={t("linkCopied")} work={link} />}
      {resend && <ActionButton label={t("newLink")} name={t("newLinkTo", { name })} done={t("newLinkSent")} work={resend} />}
      {copies && <ActionButton label={t("copiesAgain")} name={t("copiesAgainTo", { name })} done={t("copiesOnTheirWay", { email })} work={copies} />}
    </ActionRow>
  );
}
