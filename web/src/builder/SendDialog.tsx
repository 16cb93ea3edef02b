import { useState } from "preact/hooks";
import type { DraftEditor } from "./draft";
import type { Draft } from "./model";
import { FormDialog } from "./parts";

/** Subject and message, and then it goes out. */
export function SendDialog({ editor, draft, onSent, onClose }: { editor: DraftEditor; draft: Draft; onSent: () => void; onClose: () => void }) {
  const [subject, setSubject] = useState(draft.subject ?? "");
  const [message, setMessage] = useState(draft.message ?? "");
  const send = async () => {
    if (subject !== (draft.subject ?? "") || message !== (draft.message ?? "")) await editor.act("PATCH", "", { subject: subject || null, message: message || null });
    await editor.send();
    onSent();
  };
  return (
    <FormDialog title="Send for signature" label={`Send to ${draft.signers.length} ${draft.signers.length === 1 ? "person" : "people"}`} work={send} onClose={onClose}>
      <div><label for="ssubject">Subject</label><input id="ssubject" data-first maxLength={255} value={subject} onInput={(e) => setSubject(e.currentTarget.value)} /></div>
      <div><label for="smessage">Message (may be empty)</label><textarea id="smessage" maxLength={2000} value={message} onInput={(e) => setMessage(e.currentTarget.value)} /></div>
      <p class="quiet small">Those of the first step are invited at once, the others when it is their turn.</p>
    </FormDialog>
  );
}
