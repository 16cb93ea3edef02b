import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { hasRole, query, useLoad, formatTime, type Client, type Envelope, type CopyRecipient, type Mail, type PreviousSigner, type Signer, type Identity } from "./api";
import { live } from "./envelopes";
import { CorrectEmailDialog, DeadlineDialog, LabelsDialog, ReplaceDialog } from "./corrections";
import { ActionButton, ActionRow, Badge, Confirm, ErrorNotice, LabelList } from "./parts";
import { listHref, usePageTitle } from "./route";
import { TemplateOfEnvelope } from "./templates";
import { deliveryLines, sortable, timeline, type Line } from "./timeline";

interface Progress { step: string; openGroup: number; awaiting: string[]; deadline: string | null; nextReminder: string | null; workflowUrl: string | null; answeredBy: string }

const pages = (n: number): string => `${n.toLocaleString()} ${n === 1 ? "page" : "pages"}`;

/** Returns the last email to an awaited recipient, if a server permanently rejected it and no later one was sent. */
function refused(mails: Mail[], s: Signer): Mail | undefined {
  const since = sortable(s.previous?.at(-1)?.until ?? "");
  const last = mails.filter((m) => m.signerId === s.id && sortable(m.createdAt) > since && (m.sentAt || m.failedAt)).at(-1);
  return last?.failedAt ? last : undefined;
}

interface AttachedFile { id: string; name: string; by: string; size: number }

/** The files that signers signed with, while they are kept, under the names of their fields. */
function attachedFiles(e: Envelope): AttachedFile[] {
  if (e.documents.every((d) => d.purgeStatus === "purged")) return [];
  return e.auditLog.filter((x) => x.event === "attachment.added").map(({ detail }) => {
    const field = e.fields.find((f) => f.id === detail?.fieldId);
    return {
      id: String(detail?.attachmentId), name: field?.label || field?.name || "A file",
      by: e.signers.find((s) => s.id === detail?.signerId)?.name ?? "", size: Number(detail?.size),
    };
  });
}

export function EnvelopePage({ client, who, id }: { client: Client; who: Identity; id: string }) {
  const { data: e, problem, reload } = useLoad<Envelope>(client, `envelopes/${id}`, live);
  const progress = useLoad<Progress>(client, e && e.status !== "draft" ? `/v1/envelopes/${id}/progress` : null, e && ["sent", "in_progress"].includes(e.status) ? live : 0);
  const [voiding, setVoiding] = useState(false);
  const [replacing, setReplacing] = useState<Signer | CopyRecipient | null>(null);
  const [rescheduling, setRescheduling] = useState(false);
  const [correcting, setCorrecting] = useState<Signer | null>(null);
  const [labeling, setLabeling] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [copying, setCopying] = useState(false);
  const [told, setTold] = useState("");
  usePageTitle(e ? e.subject ?? `Envelope ${id}` : "Envelope");
  if (!e) return <><ErrorNotice text={problem} />{!problem && <p class="quiet">One moment …</p>}</>;
  const open = e.status === "sent" || e.status === "in_progress";
  const support = hasRole(who, "support");
  // Once all have signed, only the sealing remains.
  const correctable = open && support && e.signers.some((s) => !s.signedAt);
  const files = e.documents.filter((d) => d.kind === "sealed");
  const copies = e.status === "completed" && support && files.length > 0 && files.every((d) => d.purgeStatus !== "purged");
  const templatable = hasRole(who, "sender") && e.documents.some((d) => d.kind === "original" && d.purgeStatus !== "purged");
  const changed = (words: string) => { setTold(words); reload(); progress.reload(); };
  const sendCopies = (to: { email: string }) => async (key: string) => { await client.call(`/v1/envelopes/${id}/copies`, { body: { email: to.email }, key }); reload(); };
  const sender = hasRole(who, "sender");
  const duplicate = async (key: string) => { location.hash = `#/build/${(await client.call<Envelope>(`/v1/envelopes/${id}/duplicate`, { method: "POST", key })).id}`; };
  const actions = (s: Signer): SignerActions => !correctable || !["sent", "viewed"].includes(s.status) ? {} : ({
    remind: s.notify === false ? undefined : async (key) => { await client.call(`/v1/envelopes/${id}/signers/${s.id}/remind`, { method: "POST", key }); reload(); },
    link: sender ? async (key) => {
      const { signingUrl } = await client.call<{ signingUrl: string }>(`/v1/envelopes/${id}/signers/${s.id}/signing-link`, { method: "POST", body: {}, key });
      await navigator.clipboard.writeText(signingUrl);
      reload();
    } : undefined,
    resend: async (key) => { await client.call(`envelopes/${id}/signers/${s.id}/resend`, { method: "POST", key }); reload(); },
  });
  const signerActions = (s: Signer): SignerActions => ({
    ...actions(s),
    correct: correctable && !s.signedAt ? () => setCorrecting(s) : undefined,
    replace: correctable && !s.signedAt ? () => setReplacing(s) : undefined,
    copies: copies ? sendCopies(s) : undefined,
  });
  const copyActions = (c: CopyRecipient): SignerActions => ({ replace: correctable ? () => setReplacing(c) : undefined, copies: copies ? sendCopies(c) : undefined });
  const names = new Map(e.signers.map((s) => [s.id, s.name]));
  return (
    <>
      <p class="small"><a href={listHref("envelopes")}>Envelopes</a></p>
      <div class="row head"><Title><bdi>{e.subject ?? "Envelope"}</bdi></Title><Badge>{e.status}</Badge>{e.status === "draft" && sender && <a class="button small" href={`#/build/${id}`}>Prepare</a>}</div>
      {(templatable || support) && (
        <ActionRow>
          {templatable && <ActionButton label="Duplicate" work={duplicate} />}
          {templatable && <button type="button" class="plain small" onClick={() => setCopying(true)}>Save as template</button>}
          {support && <button type="button" class="plain small" onClick={() => setLabeling(true)}>{e.labels ? "Edit labels" : "Add labels"}</button>}
          {e.status === "draft" && sender && <button type="button" class="plain small" onClick={() => setDeleting(true)}>Delete draft</button>}
        </ActionRow>
      )}
      <LabelList labels={e.labels} />
      <ErrorNotice text={problem} />
      <p class="notice good" role="status">{told}</p>
      {e.sealingProblem && <p class="notice bad" role="alert">Everyone has signed, but the documents cannot be sealed since {formatTime(e.sealingProblem.since)}: {e.sealingProblem.message} Whoever runs the service can mend it or close the envelope.</p>}
      <div class="columns">
        <div class="stack">
          <section class="card">
            <h2>Signers</h2>
            <ul class="plainlist">{e.signers.map((s) => <SignerRow key={s.id} s={s} mail={refused(e.mails ?? [], s)} {...signerActions(s)} />)}</ul>
          </section>
          {e.copies && e.copies.length > 0 && (
            <section class="card">
              <h2>Copies</h2>
              <ul class="plainlist">{e.copies.map((c) => <CopyRow key={c.id} c={c} {...copyActions(c)} />)}</ul>
            </section>
          )}
          {progress.data && (
            <section class="card">
              <h2>{open ? "Status" : "Result"}</h2>
              <dl class="facts">
                <dt>Step</dt><dd>{progress.data.step.replaceAll("_", " ")}</dd>
                {open && (
                  <>
                    <dt>Waiting for</dt><dd>{progress.data.awaiting.map((x) => names.get(x) ?? x).join(", ") || "–"}</dd>
                    <dt>Deadline</dt><dd>{e.expiresAt ? formatTime(e.expiresAt) : "none"}</dd>
                    <dt>Next reminder</dt><dd>{formatTime(progress.data.nextReminder)}</dd>
                  </>
                )}
                {progress.data.answeredBy === "database" && open && <><dt>Not running</dt><dd>The workflow is not running. It is restarted within minutes; if not, an operator can run <code>countersign reconcile</code></dd></>}
              </dl>
            </section>
          )}
          <section class="card">
            <h2>Documents</h2>
            <ul class="plainlist">
              {e.documents.map((d) => (
                <li key={d.id}>
                  <div>{d.document_order}. <bdi>{d.name || "unnamed"}</bdi> <span class="badge">{d.kind}</span><br /><span class="quiet small">{pages(d.pageCount)} · {Math.ceil(d.size / 1024).toLocaleString()} KiB{d.purgeStatus === "purged" ? " · deleted" : ""}</span></div>
                  {d.purgeStatus !== "purged" && <ActionButton label="Download" work={() => client.download(`envelopes/${id}/document?${query({ kind: d.kind, documentId: d.id })}`, d.name || "document.pdf")} />}
                </li>
              ))}
              {attachedFiles(e).map((a) => (
                <li key={a.id}>
                  <div><bdi>{a.name}</bdi> <span class="badge">attached</span><br /><span class="quiet small">by <bdi>{a.by}</bdi> · {Math.ceil(a.size / 1024).toLocaleString()} KiB</span></div>
                  <ActionButton label="Download" name={`Download ${a.name}`} work={() => client.download(`/v1/envelopes/${id}/attachments/${a.id}`, a.name)} />
                </li>
              ))}
            </ul>
          </section>
          {open && support && (
            <p class="row">
              {correctable && <button type="button" class="plain small" onClick={() => setRescheduling(true)}>Change deadline</button>}
              <button type="button" class="plain small" onClick={() => setVoiding(true)}>Void envelope</button>
            </p>
          )}
        </div>
        <div class="stack">
          <section class="card">
            <h2>Activity</h2>
            <ol class="timeline">{timeline(e, who.user?.id).map((l, i) => <TimelineRow key={`${l.at}${i}`} l={l} />)}</ol>
          </section>
          <details class="card technical">
            <summary>Technical</summary>
            <dl class="facts">
              <dt>Envelope ID</dt><dd class="mono">{e.id}</dd>
              {e.externalId && <><dt>External ID</dt><dd class="mono"><bdi>{e.externalId}</bdi></dd></>}
              {progress.data && <><dt>Workflow</dt><dd class="mono">{progress.data.workflowUrl ? <a href={progress.data.workflowUrl} target="_blank" rel="noreferrer">envelope/{e.id}</a> : `envelope/${e.id}`}</dd></>}
            </dl>
            <ActionButton label="Download JSON" work={() => client.download(`envelopes/${id}`, `${id}.json`, "application/json")} />
            {(e.deliveries ?? []).length > 0 && <ol class="timeline">{deliveryLines(e).map((l, i) => <TimelineRow key={`${l.at}${i}`} l={l} />)}</ol>}
          </details>
        </div>
      </div>
      {copying && <TemplateOfEnvelope client={client} envelope={e} onClose={() => setCopying(false)} />}
      {replacing && <ReplaceDialog client={client} envelope={id} signer={replacing} onDone={changed} onClose={() => setReplacing(null)} />}
      {correcting && <CorrectEmailDialog client={client} envelope={id} signer={correcting} onDone={changed} onClose={() => setCorrecting(null)} />}
      {labeling && <LabelsDialog client={client} envelope={id} labels={e.labels ?? []} onDone={changed} onClose={() => setLabeling(false)} />}
      {deleting && (
        <Confirm title="Delete this draft?" text="Its documents, recipients and fields are deleted. This can't be undone." label="Delete draft"
          work={async () => { await client.call(`/v1/envelopes/${id}`, { method: "DELETE" }); location.hash = listHref("envelopes"); }} onClose={() => setDeleting(false)} />
      )}
      {rescheduling && <DeadlineDialog client={client} envelope={id} expiresAt={e.expiresAt} onDone={changed} onClose={() => setRescheduling(false)} />}
      {voiding && (
        <Confirm title="Void this envelope?" text="All signing links stop working. This can't be undone." label="Void" reason="Reason (optional; emailed to everyone who was invited)"
          work={async (reason, key) => { await client.call(`envelopes/${id}/void`, { body: { reason: reason || null }, key }); reload(); }} onClose={() => setVoiding(false)} />
      )}
    </>
  );
}

const proofs: Record<string, string> = { none: "no code", email_otp: "code by email", sms_otp: "code by text message" };

/** Returns the part of a recipient who does not give an ordinary signature. */
function part(s: Signer): string {
  if (s.witnessFor) return `witness for ${s.witnessFor}`;
  switch (s.kind) {
    case "approver": return "approves";
    case "viewer": return "reads";
    case "in_person": return `signs in person; ${s.host?.name} (${s.host?.email}) gets the link`;
  }
  return "";
}

type Act = (key: string) => Promise<void>;
interface SignerActions { remind?: Act; link?: Act; resend?: Act; correct?: () => void; replace?: () => void; copies?: Act }

function SignerRow({ s, mail, ...actions }: { s: Signer; mail?: Mail } & SignerActions) {
  return (
    <li>
      <div>
        <strong><bdi>{s.name}</bdi></strong> <Badge>{s.status}</Badge><br />
        <span class="quiet small"><bdi>{s.email}</bdi> · {[s.role, part(s), `group ${s.routingOrder}`, proofs[s.authMethod], s.signedAt && `signed ${formatTime(s.signedAt)}`].filter(Boolean).join(" · ")}</span>
        {mail && <p class="notice bad small">The mail server refused the {mail.kind} ({formatTime(mail.failedAt)}){mail.error && `: ${mail.error}`}. {s.signedAt ? "" : s.host ? "The host's address may be wrong. A host can't be replaced: void the envelope and send it again." : "The address may be wrong: correct the email."}</p>}
        <Before previous={s.previous} />
      </div>
      <Corrections who={s} reassign {...actions} />
    </li>
  );
}

function CopyRow({ c, replace, copies }: { c: CopyRecipient } & SignerActions) {
  return (
    <li>
      <div>
        <strong><bdi>{c.name}</bdi></strong><br />
        <span class="quiet small"><bdi>{c.email}</bdi> · group {c.routingOrder}</span>
        <Before previous={c.previous} />
      </div>
      <Corrections who={c} {...{ replace, copies }} />
    </li>
  );
}

function Before({ previous }: { previous?: PreviousSigner[] }) {
  return <>{previous?.map((p) => <p key={p.until} class="quiet small before">Before: <bdi>{p.name}</bdi>, <bdi>{p.email}</bdi>, until {formatTime(p.until)}{p.reason && <> · <bdi>{p.reason}</bdi></>}</p>)}</>;
}

function Corrections({ who, reassign, remind, link, resend, correct, replace, copies }: { who: { name: string; email: string }; reassign?: boolean } & SignerActions) {
  if (!remind && !link && !resend && !correct && !replace && !copies) return null;
  const word = reassign ? "Reassign" : "Replace";
  return (
    <ActionRow>
      {remind && <ActionButton label="Remind" name={`Remind ${who.name}`} done={`A reminder is on its way to ${who.email}.`} work={remind} />}
      {correct && <button type="button" class="plain small" aria-label={`Correct email of ${who.name}`} onClick={correct}>Correct email</button>}
      {replace && <button type="button" class="plain small" aria-label={`${word} ${who.name}`} onClick={replace}>{word}</button>}
      {link && <ActionButton label="Copy link" name={`Copy link of ${who.name}`} done="Link copied. Anyone who has it can open the documents." work={link} />}
      {resend && <ActionButton label="Send a new link" name={`Send a new link to ${who.name}`} done="New link sent. The old link no longer works." work={resend} />}
      {copies && <ActionButton label="Send copies again" name={`Send copies again to ${who.name}`} done={`Links to the sealed files are on their way to ${who.email}.`} work={copies} />}
    </ActionRow>
  );
}

function TimelineRow({ l }: { l: Line }) {
  return (
    <li class={`${l.kind} ${l.bad ? "bad" : ""}`}>
      <time class="quiet small" dateTime={l.at}>{formatTime(l.at)}</time>
      <div>
        {l.href ? <a href={l.href}>{l.title}</a> : <strong>{l.title}</strong>}{l.note && <span class="quiet small"> {l.note}</span>}
        {l.folded && (
          <details>
            <summary class="small">Show each</summary>
            <ol>{l.folded.map((x, i) => <li key={i}><time class="quiet small" dateTime={x.at}>{formatTime(x.at)}</time> <span class="small">{x.note}</span></li>)}</ol>
          </details>
        )}
      </div>
    </li>
  );
}
