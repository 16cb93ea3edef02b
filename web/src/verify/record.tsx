import type { SealRecord, RecordSigner, RecordValue } from "./report";
import { hasText, type VerifyKey, type VerifyTranslate } from "./words";

interface Shown { record: SealRecord; say: VerifyTranslate; when: (s: string) => string }

/** Returns the key of the message for a finding, value or event, or null if there is none. */
const known = (key: string): VerifyKey | null => (hasText(key) ? key : null);

/** The facts about the document from its verified record. */
export function Facts({ record: r, say, when, file, stampedAt }: Shown & { file: string; stampedAt?: string }) {
  const { total, certificate } = r.pages;
  return (
    <dl class="facts">
      <dt>{say("file")}</dt><dd><bdi>{file}</bdi></dd>
      {r.subject && <><dt>{say("subject")}</dt><dd><bdi>{r.subject}</bdi></dd></>}
      {r.document.of > 1 && <><dt>{say("document")}</dt><dd>{say("documentOf", { name: r.document.name || "–", order: r.document.order, of: r.document.of })}</dd></>}
      {r.sender && <><dt>{say("sender")}</dt><dd><bdi>{r.sender}</bdi></dd></>}
      <dt>{say("sealedBy")}</dt><dd><bdi>{r.sealedBy}</bdi></dd>
      <dt>{say("sealedAt")}</dt><dd>{when(r.sealedAt)}</dd>
      {stampedAt && <><dt>{say("stampedAt")}</dt><dd>{when(stampedAt)}</dd></>}
      {certificate > 0 && <><dt>{say("pages")}</dt><dd>{say(certificate === total ? "pagesOne" : "pagesText", { total, from: certificate })}</dd></>}
      <dt>{say("envelope")}</dt><dd class="mono" dir="ltr">{r.envelopeId}</dd>
      <dt>{say("fingerprint")}</dt><dd class="mono" dir="ltr">{r.document.sha256}</dd>
    </dl>
  );
}

/** Returns a description of the signer's identity check. */
function identified(s: RecordSigner, say: VerifyTranslate): string {
  if (!s.verifiedAt) return s.host ? say("hostedBy", s.host) : say("byLink");
  return say(s.authMethod === "sms_otp" ? "bySMS" : "byMail");
}

/** Returns the kind of a recipient who does not sign, or null for a signer. */
const answer = (s: RecordSigner | undefined): "approver" | "viewer" | null => (s?.kind === "approver" || s?.kind === "viewer" ? s.kind : null);

/**
 * Returns the key of the message for an event of a recipient who does not sign, or null if the message is the same as
 * for a signer.
 */
function answered(event: string, s: RecordSigner | undefined): VerifyKey | null {
  const kind = answer(s);
  return kind && event === "consent.given" ? "consentedAnswer" : event === "signer.signed" ? kind : null;
}

export function Signers({ record: r, say, when }: Shown) {
  const names = new Map(r.signers.map((s) => [s.id, s.name]));
  return (
    <section class="card">
      <h2>{say(r.confirmed ? "signers" : "signersClaimed")}</h2>
      <ul class="people">
        {r.signers.map((s) => {
          const values = r.values.filter((v) => v.signerId === s.id);
          return (
            <li key={s.id}>
              <strong><bdi>{s.name}</bdi></strong> <span class="quiet"><bdi>{s.email}</bdi></span>
              <p class="small">{identified(s, say)}{s.verifiedAt && <> · {when(s.verifiedAt)}</>}</p>
              {s.verifiedAt && s.host && <p class="small">{say("hostedBy", s.host)}</p>}
              {s.witnessFor && <p class="small">{say("witnessOf", { name: names.get(s.witnessFor) ?? "–" })}</p>}
              {s.consentAt && <p class="small quiet">{say(answer(s) ? "consentedAnswer" : "consented")} · <time dateTime={s.consentAt}>{when(s.consentAt)}</time></p>}
              {s.signedAt && <p class="small">{say(answer(s) ?? "signed")} · <time dateTime={s.signedAt}>{when(s.signedAt)}</time>{s.ip && <span class="quiet"> {say("from", { ip: s.ip })}</span>}</p>}
              {s.signedAt && !s.pagesShown && <p class="small">{say("notShown")}</p>}
              {(s.previous ?? []).map((p) => (
                <p key={p.until} class="small quiet">{say("previousUntil", { time: when(p.until), name: p.name, email: p.email })}{p.reason && <> · <bdi>{say("reasonGiven", { reason: p.reason })}</bdi></>}</p>
              ))}
              {values.length > 0 && (
                <details>
                  <summary class="small">{say("entered")}</summary>
                  <ul>{values.map((v) => <li key={v.fieldId} class="small"><span class="quiet">{word(v.kind, say)}, {say("onPage", { page: v.page })}:</span> <bdi>{entered(v, say)}</bdi></li>)}</ul>
                </details>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

const word = (kind: string, say: VerifyTranslate): string => { const key = known(kind === "title" ? "jobTitle" : kind); return key ? say(key) : kind; };

function entered(v: RecordValue, say: VerifyTranslate): string {
  if (v.kind === "checkbox") return say(v.checked ? "ticked" : "unticked");
  return v.text ?? say("picture");
}

/**
 * Returns the names of the actors by event number. Events after the replacement of a signer belong to the new person.
 */
function actorNames(r: SealRecord): Map<number, string> {
  const persons = new Map(r.signers.map((s) => [s.id, [...(s.previous ?? []).map((p) => p.name), s.name]]));
  const names = new Map<number, string>();
  for (const e of r.events) {
    const name = e.actor.startsWith("signer:") && persons.get(e.actor.slice("signer:".length))?.[0];
    if (name) names.set(e.seq, name);
    if (e.event !== "signer.replaced" && e.event !== "signer.delegated") continue;
    const left = persons.get(String(e.detail?.signerId));
    if (left && left.length > 1) left.shift();
  }
  return names;
}

/** The audit trail in words. */
export function Events({ record: r, say, when }: Shown) {
  const names = actorNames(r);
  const signers = new Map(r.signers.map((s) => [`signer:${s.id}`, s]));
  const who = (seq: number, actor: string) => names.get(seq) ?? say(actor.startsWith("app:") ? "application" : actor.startsWith("user:") ? "staff" : "service");
  return (
    <section class="card">
      <h2>{say("events")}</h2>
      <p class="quiet small">{say("eventsText", { n: r.events.length })}</p>
      <ol class="chain" tabIndex={0} aria-label={say("events")}>
        {r.events.map((e) => {
          const key = answered(e.event, signers.get(e.actor)) ?? known(`e_${e.event.replace(".", "_")}`);
          return (
            <li key={e.seq}>
              <time class="quiet small" dateTime={e.timestamp}>{when(e.timestamp)}</time>
              <span>{key ? say(key, { page: Number(e.detail?.page ?? 0) }) : <span lang="en">{e.event.replaceAll(/[._]/g, " ")}</span>}</span>
              <span><bdi>{who(e.seq, e.actor)}</bdi>{e.ip && <span class="quiet small" dir="ltr"> {e.ip}</span>}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
