import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { ApiError } from "../ui/http";
import { useScreen } from "../ui/screen";
import { hasRole, query, useLoad, formatTime, type Client, type Envelope, type CopyRecipient, type Document, type Sealing, type Signer, type Identity } from "./api";
import { Deadline, live } from "./envelopes";
import { ownerOf, sealingCause } from "./state";
import { CorrectEmailDialog, DeadlineDialog, LabelsDialog, ReplaceDialog } from "./corrections";
import { DocumentPages } from "./documentpages";
import { ActionButton, ActionRow, Badge, Confirm, ErrorNotice, LabelList } from "./parts";
import { Progress, type PersonActions } from "./progress";
import { listHref, usePageTitle } from "./route";
import { TemplateOfEnvelope } from "./templates";
import { numeral, t, type TextKey } from "./texts";
import { deliveryLines, mailLines, timeline, type Line } from "./timeline";

interface Run { step: string; awaiting: string[]; nextReminder: string | null; workflowUrl: string | null; answeredBy: string }

interface AttachedFile { id: string; name: string; by: string; size: number }

/**
 * Returns the files attached by signers, under the names of their fields, or nothing once the documents are purged.
 */
function attachedFiles(e: Envelope): AttachedFile[] {
  if (e.documents.every((d) => d.purgeStatus === "purged")) return [];
  return e.auditLog.filter((x) => x.event === "attachment.added").map(({ detail }) => {
    const field = e.fields.find((f) => f.id === detail?.fieldId);
    return {
      id: String(detail?.attachmentId), name: field?.label || field?.name || t("aFile"),
      by: e.signers.find((s) => s.id === detail?.signerId)?.name ?? "", size: Number(detail?.size),
    };
  });
}

type Asked = { is: "void" | "deadline" | "labels" | "delete" | "template" } | { is: "correct"; signer: Signer } | { is: "replace"; signer: Signer | CopyRecipient } | null;

export function EnvelopePage({ client, who, id }: { client: Client; who: Identity; id: string }) {
  const { data: e, problem, reload } = useLoad<Envelope>(client, `envelopes/${id}`, live);
  const progress = useLoad<Run>(client, e && e.status !== "draft" ? `/v1/envelopes/${id}/progress` : null, e && ["sent", "in_progress"].includes(e.status) ? live : 0);
  const [asked, setAsked] = useState<Asked>(null);
  const [notice, setNotice] = useState("");
  const [technical, setTechnical] = useState(false);
  const narrow = useScreen("(max-width: 56rem)"); // one column, which begins with the progress
  usePageTitle(e ? e.subject ?? t("envelopeNumber", { id }) : t("envelope"));
  if (!e) return <><ErrorNotice text={problem} />{!problem && <p class="quiet">{t("loading")}</p>}</>;
  const open = e.status === "sent" || e.status === "in_progress";
  const support = hasRole(who, "support");
  const sender = hasRole(who, "sender");
  // After the last signature, only sealing remains. The service then rejects all changes, including voiding.
  const correctable = open && support && e.signers.some((s) => !s.signedAt);
  const kept = e.documents.filter((d) => d.purgeStatus !== "purged").sort((a, b) => a.document_order - b.document_order);
  const sealed = kept.filter((d) => d.kind === "sealed");
  const originals = kept.filter((d) => d.kind === "original");
  const copies = e.status === "completed" && support && sealed.length > 0;
  const templatable = sender && originals.length > 0;
  const close = () => { setAsked(null); reload(); };
  /** Shows the current state if the service rejects an action, because another user or a signer has acted in the meantime. */
  const tried = (work: (key: string) => Promise<unknown>) => async (key: string) => {
    try {
      const done = await work(key);
      reload();
      return done;
    } catch (x) {
      if (x instanceof ApiError) { reload(); progress.reload(); }
      throw x;
    }
  };
  const changed = (words: string) => { setNotice(words); reload(); progress.reload(); };
  const sendCopies = (to: { email: string }) => tried(async (key) => { await client.call(`/v1/envelopes/${id}/copies`, { body: { email: to.email }, key }); });
  const duplicate = async (key: string) => { location.hash = `#/build/${(await client.call<Envelope>(`/v1/envelopes/${id}/duplicate`, { method: "POST", key })).id}`; };
  const turn = (s: Signer): PersonActions => !correctable || !["sent", "viewed"].includes(s.status) ? {} : ({
    // Use the address in the response, because another user may have corrected it.
    remind: s.notify === false ? undefined : tried(async (key) => t("reminderOnItsWay", { email: (await client.call<Signer>(`/v1/envelopes/${id}/signers/${s.id}/remind`, { method: "POST", key })).email })),
    link: sender ? tried(async (key) => {
      const { signingUrl } = await client.call<{ signingUrl: string }>(`/v1/envelopes/${id}/signers/${s.id}/signing-link`, { method: "POST", body: {}, key });
      await navigator.clipboard.writeText(signingUrl);
    }) : undefined,
    resend: tried(async (key) => { await client.call(`envelopes/${id}/signers/${s.id}/resend`, { method: "POST", key }); }),
  });
  const actionsOf = (s: Signer): PersonActions => ({
    ...turn(s),
    correct: correctable && !s.signedAt ? () => setAsked({ is: "correct", signer: s }) : undefined,
    replace: correctable && !s.signedAt ? () => setAsked({ is: "replace", signer: s }) : undefined,
    copies: copies ? sendCopies(s) : undefined,
  });
  const copyActions = (c: CopyRecipient): PersonActions => ({ replace: correctable ? () => setAsked({ is: "replace", signer: c }) : undefined, copies: copies ? sendCopies(c) : undefined });
  const download = (d: Document) => client.download(`envelopes/${id}/document?${query({ kind: d.kind, documentId: d.id })}`, d.name || "document.pdf");
  const steps = (
    <Progress e={e} actionsOf={actionsOf} copyActions={copyActions}>
      {open && <p class="quiet small meta reserved">{progress.data?.nextReminder && t("nextReminder", { time: formatTime(progress.data.nextReminder) })}{progress.data?.answeredBy === "database" && <> {t("notRunning")}</>}</p>}
    </Progress>
  );
  const pages = kept.length > 0 ? <DocumentPages key={sealed.length > 0 ? "sealed" : "original"} client={client} envelope={e} documents={sealed.length > 0 ? sealed : originals} /> : <p class="card quiet">{t("documentsDeleted")}</p>;
  const files = (
    <section class="card">
      <h2>{t("files")}</h2>
      <ul class="plainlist">
        {e.documents.map((d) => (
          <li key={d.id}>
            <div><bdi>{d.name || t("untitled")}</bdi> <span class="badge">{t(d.kind === "sealed" ? "sealedFile" : "originalFile")}</span><br /><span class="quiet small">{t("pageCount", { n: d.pageCount })} · {kib(d.size)}{d.purgeStatus === "purged" && <> · {t("deleted")}</>}</span></div>
            {d.purgeStatus !== "purged" && <ActionButton label={t("download")} name={t("downloadName", { name: `${d.name || t("untitled")} (${t(d.kind === "sealed" ? "sealedFile" : "originalFile")})` })} work={() => download(d)} />}
          </li>
        ))}
        {attachedFiles(e).map((a) => (
          <li key={a.id}>
            <div><bdi>{a.name}</bdi> <span class="badge">{t("attachedFile")}</span><br /><span class="quiet small">{t("byName", { name: a.by })} · {kib(a.size)}</span></div>
            <ActionButton label={t("download")} name={t("downloadName", { name: a.name })} work={() => client.download(`/v1/envelopes/${id}/attachments/${a.id}`, a.name)} />
          </li>
        ))}
      </ul>
    </section>
  );
  return (
    <>
      <p class="small"><a href={listHref("envelopes")}>{t("envelopes")}</a></p>
      <div class="row head"><Title><bdi>{e.subject ?? t("untitled")}</bdi></Title><Badge>{e.status}</Badge>
        {e.status === "draft" && sender && <a class="button small" href={`#/build/${id}`}>{t("prepare")}</a>}
        {sealed.length === 1 && <ActionButton label={t("downloadSealed")} tone="" work={() => download(sealed[0]!)} />}
        {sealed.length > 1 && <ActionButton label={t("downloadSealedAll", { n: sealed.length })} tone="" work={() => client.download(`/v1/envelopes/${id}/documents.zip`, "documents.zip", "application/zip")} />}
      </div>
      <p class="quiet small byline">{t("sentBy", { name: ownerOf(e, who.app.name) })} · {formatTime(e.createdAt)}{e.expiresAt && open && <> · {t("deadline")}: <Deadline e={e} /></>}</p>
      <LabelList labels={e.labels} />
      {(templatable || support) && (
        <ActionRow>
          {templatable && <ActionButton label={t("duplicate")} work={duplicate} />}
          {templatable && <button type="button" class="plain small" onClick={() => setAsked({ is: "template" })}>{t("saveAsTemplate")}</button>}
          {support && <button type="button" class="plain small" onClick={() => setAsked({ is: "labels" })}>{t(e.labels ? "editLabels" : "addLabels")}</button>}
          {correctable && <button type="button" class="plain small" onClick={() => setAsked({ is: "deadline" })}>{t("changeDeadline")}</button>}
          {correctable && <button type="button" class="plain small" onClick={() => setAsked({ is: "void" })}>{t("voidEnvelope")}</button>}
          {e.status === "draft" && sender && <button type="button" class="plain small" onClick={() => setAsked({ is: "delete" })}>{t("deleteDraft")}</button>}
        </ActionRow>
      )}
      <ErrorNotice text={problem} />
      <p class="notice good" role="status">{notice}</p>
      {e.sealingProblem && <SealingProblem e={e} problem={e.sealingProblem} support={support} />}
      {narrow
        ? <div class="stack ofenvelope">{steps}{pages}{files}</div>
        : <div class="columns ofenvelope"><div class="stack">{pages}</div><div class="stack">{steps}{files}</div></div>}
      <section class="card history">
        <div class="inbox row" role="tablist" aria-label={t("activity")} onKeyDown={(x) => { if (x.key === "ArrowLeft" || x.key === "ArrowRight") { setTechnical(!technical); document.getElementById(technical ? "tab-activity" : "tab-technical")?.focus(); } }}>
          <button type="button" role="tab" id="tab-activity" class="bare small" aria-selected={!technical} aria-controls="history" tabIndex={technical ? -1 : 0} onClick={() => setTechnical(false)}>{t("activity")}</button>
          <button type="button" role="tab" id="tab-technical" class="bare small" aria-selected={technical} aria-controls="history" tabIndex={technical ? 0 : -1} onClick={() => setTechnical(true)}>{t("technical")}</button>
        </div>
        <div id="history" role="tabpanel" aria-labelledby={technical ? "tab-technical" : "tab-activity"}>
          {!technical && <ol class="timeline">{timeline(e, who.app.name).map((l, i) => <TimelineRow key={`${l.at}${i}`} l={l} />)}</ol>}
          {technical && <Technical client={client} e={e} run={progress.data} />}
        </div>
      </section>
      {asked?.is === "template" && <TemplateOfEnvelope client={client} envelope={e} onClose={close} />}
      {asked?.is === "replace" && <ReplaceDialog client={client} envelope={id} signer={asked.signer} onDone={changed} onClose={close} />}
      {asked?.is === "correct" && <CorrectEmailDialog client={client} envelope={id} signer={asked.signer} onDone={changed} onClose={close} />}
      {asked?.is === "labels" && <LabelsDialog client={client} envelope={id} labels={e.labels ?? []} onDone={changed} onClose={close} />}
      {asked?.is === "deadline" && <DeadlineDialog client={client} envelope={id} expiresAt={e.expiresAt} onDone={changed} onClose={close} />}
      {asked?.is === "delete" && (
        <Confirm title={t("deleteDraftTitle")} text={t("deleteDraftText")} label={t("deleteDraft")}
          work={async () => { await client.call(`/v1/envelopes/${id}`, { method: "DELETE" }); location.hash = listHref("envelopes"); }} onClose={close} />
      )}
      {asked?.is === "void" && (
        <Confirm title={t("voidOneTitle")} text={t("voidText")} label={t("void")} reason={t("voidReason")}
          work={async (reason, key) => { await client.call(`envelopes/${id}/void`, { body: { reason: reason || null }, key }); }} onClose={close} />
      )}
    </>
  );
}

const kib = (size: number): string => t("kib", { n: Math.ceil(size / 1024) });

/** The sealing problem, with what the user can do: pass the details on, or see the list of problems. */
function SealingProblem({ e, problem, support }: { e: Envelope; problem: Sealing; support: boolean }) {
  const details = [e.subject ?? "", location.href, e.id, problem.code, problem.message, problem.since].filter(Boolean).join("\n");
  return (
    <div class="notice bad stuck">
      <p role="alert">{t("sealingProblem", { since: formatTime(problem.since), message: sealingCause(problem.code, problem.message) })}</p>
      <div class="row"><ActionButton label={t("copyDetails")} done={t("detailsCopied")} work={() => navigator.clipboard.writeText(details)} />{support && <a href="#/problems" class="small">{t("problems")}</a>}</div>
    </div>
  );
}

const stepNames: Partial<Record<string, TextKey>> = { waiting: "stepWaiting", expiring: "stepExpiring", sealing: "statusSealing", sealing_failed: "stepSealingFailed", sending_copies: "stepCopies", closing: "stepClosing", done: "stepDone" };

/** Returns the label of a step of the workflow. */
const stepName = (step: string): string => { const key = stepNames[step]; return key ? t(key) : step.replaceAll("_", " "); };

/** Displays the envelope's IDs, workflow, emails, deliveries and audit trail. */
function Technical({ client, e, run }: { client: Client; e: Envelope; run: Run | null }) {
  const workflow = ["envelope", e.id].join("/");
  return (
    <div class="technical">
      <dl class="facts">
        <dt>{t("envelopeId")}</dt><dd class="mono">{e.id}</dd>
        <dt>{t("workspace")}</dt><dd class="mono"><bdi>{e.tenantId}</bdi></dd>
        {e.externalId && <><dt>{t("externalId")}</dt><dd class="mono"><bdi>{e.externalId}</bdi></dd></>}
        {run && <><dt>{t("progress")}</dt><dd>{stepName(run.step)}</dd><dt>{t("workflow")}</dt><dd class="mono">{run.workflowUrl ? <a href={run.workflowUrl} target="_blank" rel="noreferrer">{workflow}</a> : workflow}</dd></>}
      </dl>
      <ActionButton label={t("downloadJson")} work={() => client.download(`envelopes/${e.id}`, `${e.id}.json`, "application/json")} />
      <ol class="timeline">{[...mailLines(e), ...deliveryLines(e)].map((l, i) => <TimelineRow key={`${l.at}${i}`} l={l} />)}</ol>
      <div class="scroll" tabIndex={0} role="region" aria-label={t("auditTrail")}>
        <table class="rows"><thead><tr><th scope="col">{t("number")}</th><th scope="col">{t("time")}</th><th scope="col">{t("event")}</th><th scope="col">{t("actor")}</th><th scope="col">{t("ipAddress")}</th></tr></thead>
          <tbody>{[...e.auditLog].sort((a, b) => b.seq - a.seq).map((x) => <tr key={x.seq}><td>{numeral(x.seq)}</td><td>{formatTime(x.timestamp)}</td><td class="mono">{x.event}</td><td class="mono">{x.actor}</td><td class="mono">{x.ip ?? "–"}</td></tr>)}</tbody></table>
      </div>
    </div>
  );
}

function TimelineRow({ l }: { l: Line }) {
  return (
    <li class={`${l.kind} ${l.bad ? "bad" : ""}`}>
      <time class="quiet small" dateTime={l.at}>{formatTime(l.at)}</time>
      <div>
        {l.href ? <a href={l.href}>{l.title}</a> : <strong>{l.title}</strong>}{l.note && <span class="quiet small"> <bdi>{l.note}</bdi></span>}
        {l.folded && (
          <details>
            <summary class="small">{t("showEach")}</summary>
            <ol>{l.folded.map((x, i) => <li key={i}><time class="quiet small" dateTime={x.at}>{formatTime(x.at)}</time> <span class="small">{x.title}{x.note && ` · ${x.note}`}</span></li>)}</ol>
          </details>
        )}
      </div>
    </li>
  );
}
