import { formatTime, type Envelope, type Event, type Signer } from "./api";

export interface Line { at: string; kind: "event" | "mail" | "webhook"; title: string; note: string; bad?: boolean; href?: string; folded?: Line[] }

/** A time in a form that sorts as text: Go leaves zeros at the end of fractions out. */
export const sortable = (at: string): string => {
  const [, whole = at, fraction = ""] = /^([^.Z]*)(?:\.(\d+))?Z$/.exec(at) ?? [];
  return `${whole}.${fraction.padEnd(9, "0")}`;
};

/** The text for each event. */
const words: Record<string, string> = {
  "envelope.created": "Created", "document.added": "Document added", "document.prepared": "Document prepared", "signer.added": "Recipient added", "field.added": "Field added",
  "draft.prepared": "Draft edited", "envelope.sent": "Sent", "invitation.sent": "Invitation sent", "invitation.failed": "Invitation not delivered", "reminder.requested": "Reminder requested", "reminder.sent": "Reminder sent",
  "link.renewed": "New link sent", "link.issued": "Signing link given to the sender", "signer.viewed": "Opened the link", "otp.requested": "Requested a code", "otp.verified": "Entered the code",
  "signer.otp_failed": "Entered a wrong code 3 times", "consent.given": "Agreed to sign electronically", page_viewed: "Viewed a page", pages_viewed_again: "Viewed pages again",
  "attachment.added": "Attached a file", "signer.signed": "Signed", "signer.declined": "Declined", "signer.replaced": "Recipient replaced", "signer.delegated": "Assigned to someone else",
  "copy.announced": "Copy announced", "copy.replaced": "Copy recipient replaced", "copy.requested": "Copies requested again", "copy.sent": "Links to copies sent", "envelope.updated": "Deadline or reminders changed",
  "envelope.declined": "Closed: declined", "envelope.voided": "Voided", "envelope.expired": "Expired", "document.sealed": "Sealed", "sealing.failed": "Sealing failed", "envelope.completed": "Completed",
  "document.timestamped": "Time-stamp added", "document.downloaded": "Downloaded", "document.purged": "Deleted after the retention period", "envelope.deleted": "Draft deleted",
};

/** What happens before an envelope is sent. */
const setUp = new Set(["envelope.created", "document.added", "document.prepared", "signer.added", "field.added", "draft.prepared"]);

/** Returns who was the signer at a time: another person may have replaced them since. */
export const nameAt = (s: Pick<Signer, "name" | "previous">, at: string): string => s.previous?.find((p) => sortable(at) <= sortable(p.until))?.name ?? s.name;

/** Returns what an event changed, if its name alone does not show it. */
function change(x: Event, signers: Map<string, Signer>): string {
  if (x.event === "envelope.updated" && x.detail && "expiresAt" in x.detail) return x.detail.expiresAt ? `deadline ${formatTime(String(x.detail.expiresAt))}` : "no deadline";
  const s = signers.get(String(x.detail?.signerId));
  if (!s || (x.event !== "signer.replaced" && x.event !== "signer.delegated")) return "";
  const before = Number(x.detail?.person) - 2; // the chain counts persons from 1, and the event names the new one
  return `${s.previous?.[before + 1]?.name ?? s.name} instead of ${s.previous?.[before]?.name ?? ""}`;
}

/**
 * Merges audit events and emails, the newest first. Events of the same time keep the audit trail's order. user is the ID of
 * the reader.
 */
export function timeline(e: Envelope, user?: string): Line[] {
  const signers = new Map(e.signers.map((s) => [s.id, s]));
  const people = new Map([...e.signers, ...(e.copies ?? [])].map((p) => [p.id, p]));
  const name = (id: string, at: string) => { const p = people.get(id); return p && nameAt(p, at); };
  const who = (actor: string, at: string) => name(actor.replace(/^signer:/, ""), at) ?? actor.replace(/^app:.*/, "application").replace(`user:${user}`, "you").replace(/^user:.*/, "console user").replace("system", "");
  const event = (x: Event): Line => ({
    at: x.timestamp, kind: "event", title: words[x.event] ?? x.event.replaceAll(/[._]/g, " "), bad: x.event === "invitation.failed" || x.event === "signer.otp_failed",
    note: [who(x.actor, x.timestamp), change(x, signers), x.ip, x.detail?.page ? `page ${x.detail.page}` : "", x.detail?.reason].filter(Boolean).join(" · "),
  });
  const rows: { line: Line; seq: number }[] = [
    ...fold(e.auditLog, event, who, e.status !== "draft"),
    ...(e.mails ?? []).map((m) => ({
      seq: Infinity, line: {
        at: m.sentAt ?? m.failedAt ?? m.createdAt, kind: "mail", bad: m.failedAt !== null,
        title: `Email: ${m.kind} ${m.sentAt ? "sent" : m.failedAt ? "refused" : "waiting"}`, note: [name(m.signerId, m.createdAt) ?? "", m.error].filter(Boolean).join(" · "),
      } satisfies Line,
    })),
  ];
  rows.sort((a, b) => sortable(b.line.at).localeCompare(sortable(a.line.at)) || (b.seq === a.seq ? 0 : b.seq - a.seq));
  return rows.map((r) => r.line);
}

/** Returns the webhook deliveries, the newest first. */
export function deliveryLines(e: Envelope): Line[] {
  return (e.deliveries ?? []).map((d): Line => ({
    at: d.deliveredAt ?? d.failedAt ?? d.createdAt, kind: "webhook", bad: d.status === "failed", title: `Webhook: ${d.event} ${d.status}`,
    note: [d.webhookUrl ?? "deleted endpoint", `${d.attempts} ${d.attempts === 1 ? "attempt" : "attempts"}`].join(" · "), href: `#/deliveries/${d.id}`,
  })).sort((a, b) => sortable(b.at).localeCompare(sortable(a.at)));
}

/** Combines consecutive page views of one person and, of an envelope that was sent, the steps that set it up. */
function fold(log: Event[], line: (x: Event) => Line, who: (actor: string, at: string) => string, sent: boolean): { line: Line; seq: number }[] {
  const rows: { line: Line; seq: number }[] = [];
  const sorted = [...log].sort((a, b) => a.seq - b.seq);
  for (let i = 0; i < sorted.length;) {
    let end = i + 1;
    if (sorted[i]!.event === "page_viewed") while (end < sorted.length && sorted[end]!.event === "page_viewed" && sorted[end]!.actor === sorted[i]!.actor) end++;
    const settingUp = sent && setUp.has(sorted[i]!.event);
    if (settingUp) while (end < sorted.length && setUp.has(sorted[end]!.event)) end++;
    const run = sorted.slice(i, end);
    const last = run.at(-1)!;
    const pages = new Set(run.map((x) => `${String(x.detail?.documentId ?? "")}:${String(x.detail?.page ?? "")}`));
    rows.push({
      seq: last.seq,
      line: run.length === 1 ? line(last) : settingUp ? {
        at: last.timestamp, kind: "event", title: "Set up", note: [who(last.actor, last.timestamp), `${run.length} steps`].filter(Boolean).join(" · "),
        folded: run.map(line).reverse().map((l) => ({ ...l, note: [l.title, l.note].filter(Boolean).join(" · ") })),
      } : {
        at: last.timestamp, kind: "event", title: `${pages.size} ${pages.size === 1 ? "page" : "pages"} viewed`,
        note: [who(last.actor, last.timestamp), `${run.length} views`].join(" · "), folded: run.map(line).reverse(),
      },
    });
    i = end;
  }
  return rows;
}
