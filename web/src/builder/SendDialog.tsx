import { useState } from "preact/hooks";
import type { DraftEditor } from "./draft";
import type { Draft } from "./model";
import { FormDialog } from "./parts";
import { t } from "./texts";
import { Warnings } from "./Warnings";

/** The dialog for subject and message, which sends the draft. */
export function SendDialog({ editor, draft, onClose }: { editor: DraftEditor; draft: Draft; onClose: () => void }) {
  const [subject, setSubject] = useState(draft.subject ?? "");
  const [message, setMessage] = useState(draft.message ?? "");
  const send = async () => {
    if (subject !== (draft.subject ?? "") || message !== (draft.message ?? "")) await editor.act("PATCH", "", { subject: subject || null, message: message || null });
    await editor.send();
  };
  return (
    <FormDialog title={t("sendTitle")} label={t("sendTo", { n: draft.signers.length })} work={send} onClose={onClose}>
      <div><label for="ssubject">{t("subject")}</label><input id="ssubject" data-first maxLength={255} value={subject} onInput={(e) => setSubject(e.currentTarget.value)} /></div>
      <div><label for="smessage">{t("message")}</label><textarea id="smessage" maxLength={2000} value={message} onInput={(e) => setMessage(e.currentTarget.value)} /></div>
      <Warnings editor={editor} />
      <p class="quiet small">{t("sendText")}</p>
    </FormDialog>
  );
}
