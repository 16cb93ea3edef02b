import { useState } from "preact/hooks";
import { AddressHint } from "../ui/AddressHint";
import type { Contacts } from "../ui/ContactBox";
import { languages } from "../ui/i18n";
import type { DraftEditor } from "./draft";
import type { RecipientEdit } from "./editor";
import { colourOf, recipientKinds, type BuilderField, type Draft, type Recipient } from "./model";
import { errorText, FormDialog } from "./parts";
import { Preview } from "./Preview";
import { RecipientDialog } from "./RecipientDialog";
import { moveBy, stepsOf } from "./steps";
import { numeral, t } from "./texts";
import { Warnings } from "./Warnings";

interface Props {
  editor: DraftEditor;
  draft: Draft;
  /** Whether the recipients can be changed. */
  editable: boolean;
  contacts?: Contacts;
  fields: readonly BuilderField[];
  signingPage?: (recipient: string) => string;
  onClose: () => void;
}

const day = 86_400_000;
const intervals = [0, 24, 72, 168]; // hours between reminders

/**
 * A dialog for sending the draft. It displays the recipients' order and everything they will receive: the message, the
 * deadline, reminders, copies and the language.
 */
export function SendDialog({ editor, draft, editable, contacts, fields, signingPage, onClose }: Props) {
  const recipients = draft.signers;
  const copies = draft.copies ?? [];
  const everybody = [...recipients, ...copies];
  const days = draft.expiresAt && draft.createdAt ? String(Math.round((Date.parse(draft.expiresAt) - Date.parse(draft.createdAt)) / day)) : "";
  const hours = draft.reminderHours === undefined ? "" : String(draft.reminderHours);
  const spoken = everybody.every((r) => r.language === everybody[0]?.language) ? everybody[0]?.language ?? "" : "";
  const [subject, setSubject] = useState(draft.subject ?? "");
  const [message, setMessage] = useState(draft.message ?? "");
  const [expiry, setExpiry] = useState(days);
  const [reminder, setReminder] = useState(hours);
  const [language, setLanguage] = useState(spoken);
  const [editing, setEditing] = useState<Recipient | "copy" | "new" | null>(null);
  const [preview, setPreview] = useState(false);
  const [problem, setProblem] = useState("");
  const edit = (edits: ReadonlyMap<string, RecipientEdit>) => {
    setProblem("");
    if (edits.size > 0) editor.parts.editRecipients(edits).catch((e: unknown) => setProblem(errorText(e)));
  };
  /** Saves the changes made in the dialog: the subject and message, the deadline, the reminders, and the language. */
  const save = async () => {
    const changes = {
      ...(subject !== (draft.subject ?? "") ? { subject: subject || null } : {}), ...(message !== (draft.message ?? "") ? { message: message || null } : {}),
      ...(expiry !== days ? { expiresInDays: expiry ? Number(expiry) : null } : {}), ...(reminder !== hours ? { reminderHours: reminder ? Number(reminder) : null } : {}),
    };
    if (Object.keys(changes).length > 0) await editor.act("PATCH", "", changes);
    if (language !== spoken) await editor.parts.editRecipients(new Map(everybody.map((r) => [r.id, { language: language || undefined }])));
  };
  const send = async () => {
    if (draft.documents.length === 0) throw new Error(t("documentMissing"));
    if (recipients.length === 0) throw new Error(t("recipientsMissing"));
    if (fields.length === 0 && recipients.some((r) => ["signer", "in_person"].includes(r.kind ?? "signer"))) throw new Error(t("fieldsMissing"));
    try {
      await save();
      await editor.send();
    } catch (e) {
      // Another user sent, deleted or changed the draft. The page behind the dialog displays this.
      if (!["over", "conflict"].includes(editor.snapshot().state)) throw e;
    }
  };
  const row = (r: Recipient, step: number | null) => (
    <li key={r.id} class={step === null ? "" : colourOf(recipients, r.id)}>
      <span class="bstepno" aria-hidden={step === null}>{step === null ? "" : numeral(step)}</span>
      <span><strong><bdi>{r.name || t("noName")}</bdi></strong> <span class="quiet small">{r.witnessFor ? t("witnesses", { name: recipients.find((o) => o.role === r.witnessFor)?.name ?? r.witnessFor }) : t(recipientKinds[r.kind ?? "signer"])}</span><br /><span class="quiet small"><bdi>{r.email}</bdi></span>
        {editable && <AddressHint address={r.email} text={(address) => t("didYouMean", { address })} onTake={(email) => edit(new Map([[r.id, { email }]]))} />}</span>
      {editable && (
        <span class="bmini">
          {step !== null && !r.witnessFor && recipients.length > 1 && (
            <><button type="button" aria-label={t("moveEarlier", { name: r.name })} title={t("earlier")} aria-disabled={moveBy(recipients, r, -1).size === 0} onClick={() => edit(moveBy(recipients, r, -1))}>↑</button>
              <button type="button" aria-label={t("moveLater", { name: r.name })} title={t("later")} aria-disabled={moveBy(recipients, r, 1).size === 0} onClick={() => edit(moveBy(recipients, r, 1))}>↓</button></>
          )}
          <button type="button" aria-label={t("editName", { name: r.name })} title={t("edit")} onClick={() => setEditing(r)}>⋯</button>
        </span>
      )}
    </li>
  );
  return (
    <>
      <FormDialog title={t("sendTitle")} label={t("sendTo", { n: recipients.length })} work={send} onClose={onClose}>
        <div class="bsheet" role="group" aria-label={t("recipients")}>
          <ul>
            {stepsOf(recipients).flatMap((step, i) => step.map((r) => row(r, i + 1)))}
            {copies.map((r) => row(r, null))}
          </ul>
          {problem && <p class="notice bad small" role="alert" dir="auto">{problem}</p>}
          <div class="row">
            {editable && <button type="button" class="bare small" onClick={() => setEditing("new")}>{t("addRecipient")}</button>}
            {editable && <button type="button" class="bare small" onClick={() => setEditing("copy")}>{t("addCopy")}</button>}
            <button type="button" class="bare small" disabled={recipients.length === 0} onClick={() => { setProblem(""); save().then(() => setPreview(true), (e: unknown) => setProblem(errorText(e))); }}>{t("preview")}</button>
          </div>
        </div>
        <div><label for="ssubject">{t("subject")}</label><input id="ssubject" data-first maxLength={255} value={subject} onInput={(e) => setSubject(e.currentTarget.value)} /></div>
        <div><label for="smessage">{t("message")}</label><textarea id="smessage" maxLength={2000} value={message} onInput={(e) => setMessage(e.currentTarget.value)} /></div>
        <div class="bthree">
          <div><label for="sdays">{t("daysToSign")}</label><input id="sdays" type="number" min={1} max={3650} placeholder={t("asSet")} value={expiry} onInput={(e) => setExpiry(e.currentTarget.value)} /></div>
          <div><label for="sreminders">{t("reminders")}</label>
            <select id="sreminders" value={reminder} onChange={(e) => setReminder(e.currentTarget.value)}>
              <option value="">{t("asSet")}</option>
              {[...new Set([...intervals, ...(hours ? [Number(hours)] : [])])].sort((a, b) => a - b).map((h) => <option key={h} value={h}>{h === 0 ? t("remindNever") : h % 24 === 0 ? t("remindDays", { n: h / 24 }) : t("remindHours", { n: h })}</option>)}
            </select></div>
          <div><label for="slanguage">{t("mailLanguage")}</label>
            <select id="slanguage" disabled={!editable} value={language} onChange={(e) => setLanguage(e.currentTarget.value)}><option value="">{t("asSet")}</option>{Object.entries(languages).map(([tag, name]) => <option key={tag} value={tag} lang={tag}>{name}</option>)}</select></div>
        </div>
        <Warnings editor={editor} />
        <p class="quiet small">{t("sendText")}</p>
      </FormDialog>
      {preview && <Preview recipients={recipients} fields={fields} framed={signingPage} onClose={() => setPreview(false)} />}
      {editing && <RecipientDialog editor={editor} recipient={editing === "new" || editing === "copy" ? null : editing} initial={editing === "copy" ? "copy" : undefined} recipients={recipients} copies={copies} onMade={() => undefined} onClose={() => setEditing(null)} contacts={contacts} />}
    </>
  );
}
