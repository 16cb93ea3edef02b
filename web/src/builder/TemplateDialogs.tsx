import { useState } from "preact/hooks";
import type { Editor, TemplateTexts } from "./editor";
import { FormDialog } from "./parts";
import { t } from "./texts";

/** The name, subject and message of a template. They are saved together with the other changes. */
export function TextsDialog({ texts, onTexts, onClose }: { texts: TemplateTexts; onTexts: (t: TemplateTexts) => void; onClose: () => void }) {
  const [form, setForm] = useState(texts);
  const set = (k: keyof TemplateTexts) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  return (
    <FormDialog title={t("nameAndTexts")} label={t("takeOver")} work={async () => onTexts(form)} onClose={onClose}>
      <div><label for="tname">{t("templateName")}</label><input id="tname" data-first required maxLength={200} value={form.name} onInput={set("name")} /></div>
      <div><label for="tsubject">{t("templateSubject")}</label><input id="tsubject" maxLength={4000} value={form.subject} onInput={set("subject")} /></div>
      <div><label for="tmessage">{t("message")}</label><textarea id="tmessage" maxLength={4000} value={form.message} onInput={set("message")} /></div>
      <p class="quiet small">{t("templateHint", { example: "{{place}}" })}</p>
    </FormDialog>
  );
}

/** Requests confirmation before unsaved changes are lost. */
export function LeaveDialog({ editor, onLeave, onClose }: { editor: Editor; onLeave: () => void; onClose: () => void }) {
  const save = async () => {
    await editor.save();
    const { message } = editor.snapshot();
    if (editor.dirty) throw new Error(message || t("notSavedNow"));
    onLeave();
  };
  return (
    <FormDialog title={t("saveChanges")} label={t("saveAndClose")} work={save} onClose={onClose} other={{ label: t("closeUnsaved"), work: async () => onLeave() }}>
      <p>{t("saveText")}</p>
    </FormDialog>
  );
}
