import { ApiError, NetworkError } from "../ui/http";
import type { Key } from "../ui/locales";
import { formatMoment, type Localization } from "../ui/i18n";
import { StatusIcon, Title, type IconName } from "../ui/parts";
import type { Outcome } from "./receipt";
import { Contact } from "./Steps";

/** The reasons why a link is no longer valid or cannot be used yet. */
export type EndState = "invalid" | "expired" | "used" | "voided" | "otherDeclined" | "completed" | "notYet" | "busy" | "offline" | "embedInvalid" | "embedExpired" | "preview";

const ends: Record<EndState, { icon: IconName; tone: "" | "good" | "bad"; title: Key; text: Key }> = {
  invalid: { icon: "link", tone: "bad", title: "invalidTitle", text: "invalidText" },
  expired: { icon: "clock", tone: "", title: "expiredTitle", text: "expiredText" },
  used: { icon: "check", tone: "good", title: "usedTitle", text: "usedText" },
  voided: { icon: "cross", tone: "", title: "voidedTitle", text: "voidedText" },
  otherDeclined: { icon: "cross", tone: "", title: "otherDeclinedTitle", text: "otherDeclinedText" },
  completed: { icon: "check", tone: "good", title: "completedTitle", text: "completedText" },
  notYet: { icon: "clock", tone: "", title: "notYetTitle", text: "notYetText" },
  busy: { icon: "clock", tone: "", title: "busyTitle", text: "busyText" },
  offline: { icon: "link", tone: "", title: "downTitle", text: "unreachable" },
  embedInvalid: { icon: "link", tone: "bad", title: "embedInvalidTitle", text: "embedInvalidText" },
  embedExpired: { icon: "clock", tone: "", title: "embedExpiredTitle", text: "embedExpiredText" },
  preview: { icon: "check", tone: "", title: "previewTitle", text: "previewText" },
};

/** Returns the end state that corresponds to an error, or null if the page can continue. */
export function endStateOf(e: unknown, framed = false): EndState | null {
  const end = endOfLink(e);
  return (framed && end && ({ invalid: "embedInvalid", expired: "embedExpired" } as Partial<Record<EndState, EndState>>)[end]) || end;
}

function endOfLink(e: unknown): EndState | null {
  if (e instanceof NetworkError) return "offline";
  if (!(e instanceof ApiError)) return null;
  switch (e.code) {
    case "signing_link_used": case "already_signed_or_declined": case "already_declined": return "used";
    case "signing_link_expired": return "expired";
    case "signing_link_closed": {
      // The details contain the state. If they do not, the state is the last word of the message.
      const state = String(e.details.status ?? /(\w+)\.?$/.exec(e.message)?.[1] ?? "");
      return ({ voided: "voided", declined: "otherDeclined", expired: "expired", completed: "completed" } as Record<string, EndState>)[state] ?? "invalid";
    }
    case "signer_pending": return "notYet";
    case "rate_limited": return "busy";
    case "session_expired": case "embedded_session_expired": return "embedExpired";
    case "preview": return "preview";
    case "session_invalid": case "embedded_session_invalid": return "embedInvalid";
  }
  if (e.status === 410) return "used";
  return e.status === 401 || e.status === 404 ? "invalid" : e.status >= 500 ? "offline" : null;
}

/** The notice that the envelope was closed after this signer had signed. */
export function Closed({ end, speech }: { end: EndState; speech: Localization }) {
  return <p class="notice bad" role="status"><strong>{speech.t(ends[end].title)}</strong> {speech.t(ends[end].text)}</p>;
}

export function EndPage({ end, outcome, speech, onRetry }: { end: EndState; outcome?: Outcome | null; speech: Localization; onRetry: () => void }) {
  const { t, locale } = speech;
  const { icon, tone, title, text } = ends[end];
  const again = end === "offline" || end === "busy";
  return (
    <section class="card">
      <StatusIcon icon={icon} tone={tone} />
      <Title>{t(title)}</Title>
      <p>{t(text)}</p>
      {outcome && (
        <dl class="facts">
          {outcome.subject && <><dt>{t("subject")}</dt><dd><bdi>{outcome.subject}</bdi></dd></>}
          <dt>{t("documents")}</dt><dd>{outcome.documents.map((d, i) => <div key={i}><bdi>{d.name}</bdi></div>)}</dd>
          <dt>{t("from")}</dt><dd><bdi>{outcome.senderName}</bdi></dd>
          {outcome.at && <><dt>{t("endedAt")}</dt><dd><time dateTime={outcome.at}>{formatMoment(outcome.at, locale)}</time></dd></>}
        </dl>
      )}
      {outcome && <Contact sender={outcome.senderName} contact={outcome.contact} t={t} />}
      {again && <button type="button" onClick={onRetry}>{t("tryAgain")}</button>}
      {end === "preview" && <button type="button" onClick={onRetry}>{t("startOver")}</button>}
    </section>
  );
}
