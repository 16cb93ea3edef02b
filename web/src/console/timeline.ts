import { formatTime, type Activity, type Delivery, type Envelope, type Event, type Mail, type Signer } from "./api";
import { nameOf } from "./parts";
import { t, type TextKey } from "./texts";

export interface Line { at: string; kind: "event" | "mail" | "webhook"; title: string; note: string; bad?: boolean; href?: string; folded?: Line[] }

/** Returns a time in a form that can be sorted as text. Go omits trailing zeros in fractions. */
export const sortable = (at: string): string => {
  const [, whole = at, fraction = ""] = /^([^.Z]*)(?:\.(\d+))?Z$/.exec(at) ?? [];
  return `${whole}.${fraction.padEnd(9, "0")}`;
};

/** The sentence for each event. {who} is the person who acted, and {to} is the recipient concerned. */
const sentences: Record<string, TextKey> = {
  "envelope.created": "evCreated", "document.added": "evDocumentAdded", "document.prepared": "evDocumentPrepared", "signer.added": "evSignerAdded", "field.added": "evFieldAdded",
  "draft.prepared": "evDraftPrepared", "envelope.sent": "evSent", "invitation.sent": "evInvited", "invitation.failed": "evNotInvited", "reminder.requested": "evReminderRequested", "reminder.sent": "evReminded",
  "link.renewed": "evLinkRenewed", "link.issued": "evLinkIssued", "signer.viewed": "evOpened", "otp.requested": "evCodeSent", "otp.verified": "evCodeEntered", "signer.otp_failed": "evCodeFailed",
  "consent.given": "evConsent", page_viewed: "evPageViewed", pages_viewed_again: "evPagesViewedAgain", "attachment.added": "evAttached", "signer.signed": "evSigned", "signer.declined": "evDeclined",
  "signer.replaced": "evReplaced", "signer.delegated": "evDelegated", "copy.announced": "evCopyAnnounced", "copy.replaced": "evCopyReplaced", "copy.requested": "evCopyRequested", "copy.sent": "evCopySent",
  "envelope.updated": "evUpdated", "envelope.declined": "evEndedDeclined", "envelope.voided": "evVoided", "envelope.expired": "evExpired", "document.sealed": "evSealed", "sealing.failed": "evSealingFailed",
  "envelope.completed": "evCompleted", "document.timestamped": "evTimestamped", "document.downloaded": "evDownloaded", "document.purged": "evPurged", "envelope.deleted": "evDeleted",
};

/** The events that can occur before an envelope is sent. */
const setUp = new Set(["envelope.created", "document.added", "document.prepared", "signer.added", "field.added", "draft.prepared"]);

const badEvents = new Set(["invitation.failed", "signer.otp_failed", "signer.declined", "envelope.declined", "sealing.failed"]);

/** Returns the name of the signer at the given time, before later replacements. */
const nameAt = (s: Pick<Signer, "name" | "previous">, at: string): string => s.previous?.find((p) => sortable(at) <= sortable(p.until))?.name ?? s.name;

type Named = Pick<Envelope, "signers" | "copies" | "users">;

/** Returns the name of a recipient at the given time, or "" if there is no such recipient. */
function recipientName(e: Named, id: unknown, at: string): string {
  const found = [...e.signers, ...(e.copies ?? [])].find((p) => p.id === id);
  return found ? nameAt(found, at) : "";
}

/** Returns the actor's name. */
function actorName(e: Named, app: string, actor: string, at: string): string {
  const [kind, id] = actor.split(":");
  switch (kind) {
    case "user": return e.users.find((u) => u.id === id)?.name ?? t("aUser");
    case "app": return app;
    case "system": return t("theService");
    case "builder": return t("aBuilderSession");
  }
  return recipientName(e, id, at) || t("aRecipient");
}

/**
 * Returns an event as a sentence, such as "Bob Hill opened the envelope". The argument app is the name of the
 * application.
 */
export function sentenceOf(e: Named, app: string, x: Activity): string {
  const at = x.timestamp;
  const values: Record<string, string | number> = {
    who: actorName(e, app, x.actor, at), to: recipientName(e, x.detail?.signerId, at) || t("aRecipient"), page: Number(x.detail?.page ?? 0),
  };
  if (x.event === "signer.replaced" || x.event === "signer.delegated") {
    const s = e.signers.find((s) => s.id === x.detail?.signerId);
    const before = Number(x.detail?.person) - 2; // the chain counts persons from 1, and the event contains the new person's number
    const [old, made] = [s?.previous?.[before], s?.previous?.[before + 1] ?? s];
    values.before = old?.name ?? "";
    values.to = made?.name ?? "";
    if (old && made && old.name === made.name) return t("evEmailCorrected", values);
  }
  if (x.event === "envelope.updated" && x.detail && "expiresAt" in x.detail) {
    return x.detail.expiresAt ? t("evDeadline", { ...values, deadline: formatTime(String(x.detail.expiresAt)) }) : t("evNoDeadline", values);
  }
  const key = sentences[x.event];
  return key ? t(key, values) : x.event.replaceAll(/[._]/g, " ");
}

const mailLine = (e: Named, m: Mail): Line => ({
  at: m.sentAt ?? m.failedAt ?? m.createdAt, kind: "mail", bad: m.failedAt !== null,
  title: t(m.sentAt ? "mailSent" : m.failedAt ? "mailRefused" : "mailWaiting", { kind: nameOf(m.kind), to: recipientName(e, m.signerId, m.createdAt) || t("aRecipient") }), note: m.error ?? "",
});

/** The events that contain the same information as the corresponding email's own line. */
const mailEvents = new Set(["invitation.sent", "invitation.failed", "reminder.sent", "copy.announced", "copy.sent"]);

/**
 * Returns the events and the emails that no event reports, newest first. Events with the same time keep the order of
 * the audit trail.
 */
export function timeline(e: Envelope, app: string): Line[] {
  const event = (x: Event): Line => ({ at: x.timestamp, kind: "event", title: sentenceOf(e, app, x), bad: badEvents.has(x.event), note: String(x.detail?.reason ?? "") });
  const reported = e.auditLog.filter((x) => mailEvents.has(x.event)).map((x) => sortable(x.timestamp));
  const unreported = (e.mails ?? []).filter((m) => !reported.includes(sortable(m.sentAt ?? m.failedAt ?? "")));
  const rows: { line: Line; seq: number }[] = [...fold(e.auditLog, event, (x) => actorName(e, app, x.actor, x.timestamp), e.status !== "draft"), ...unreported.map((m) => ({ seq: Infinity, line: mailLine(e, m) }))];
  rows.sort((a, b) => sortable(b.line.at).localeCompare(sortable(a.line.at)) || (b.seq === a.seq ? 0 : b.seq - a.seq));
  return rows.map((r) => r.line);
}

/** Returns the emails, newest first. */
export const mailLines = (e: Envelope): Line[] => (e.mails ?? []).map((m) => mailLine(e, m)).sort((a, b) => sortable(b.at).localeCompare(sortable(a.at)));

/** Returns the webhook deliveries, newest first. */
export const deliveryLines = (e: Envelope): Line[] => (e.deliveries ?? []).map((d: Delivery): Line => ({
  at: d.deliveredAt ?? d.failedAt ?? d.createdAt, kind: "webhook", bad: d.status === "failed", title: t("webhookLine", { event: d.event, status: nameOf(d.status) }),
  note: [d.webhookUrl ?? t("deletedEndpoint"), t("attemptCount", { n: d.attempts })].join(" · "), href: `#/deliveries/${d.id}`,
})).sort((a, b) => sortable(b.at).localeCompare(sortable(a.at)));

/**
 * Combines consecutive page views by the same person. For an envelope that was sent, it also combines the steps that
 * prepared it.
 */
function fold(log: Event[], line: (x: Event) => Line, who: (x: Event) => string, sent: boolean): { line: Line; seq: number }[] {
  const rows: { line: Line; seq: number }[] = [];
  const sorted = [...log].sort((a, b) => a.seq - b.seq);
  for (let i = 0; i < sorted.length;) {
    let end = i + 1;
    if (sorted[i]!.event === "page_viewed") while (end < sorted.length && sorted[end]!.event === "page_viewed" && sorted[end]!.actor === sorted[i]!.actor) end++;
    const settingUp = sent && setUp.has(sorted[i]!.event);
    if (settingUp) while (end < sorted.length && setUp.has(sorted[end]!.event)) end++;
    const run = sorted.slice(i, end);
    const last = run.at(-1)!;
    const folded = run.map(line).reverse();
    const pages = new Set(run.map((x) => `${String(x.detail?.documentId ?? "")}:${String(x.detail?.page ?? "")}`)).size;
    rows.push({
      seq: last.seq,
      line: run.length === 1 ? folded[0]! : { at: last.timestamp, kind: "event", note: "", folded, title: settingUp ? t("setUp", { n: run.length }) : t("pagesViewed", { n: pages, who: who(last) }) },
    });
    i = end;
  }
  return rows;
}
