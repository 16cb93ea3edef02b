import { useState } from "preact/hooks";
import type { Editor, TemplateTexts } from "./editor";
import { errorText, FormDialog } from "./parts";

/** Name and texts of a template; they are saved with the rest. */
export function TextsDialog({ texts, onTexts, onClose }: { texts: TemplateTexts; onTexts: (t: TemplateTexts) => void; onClose: () => void }) {
  const [form, setForm] = useState(texts);
  const set = (k: keyof TemplateTexts) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  return (
    <FormDialog title="Name and texts" label="Take over" work={async () => onTexts(form)} onClose={onClose}>
      <div><label for="tname">Name of the template</label><input id="tname" data-first required maxLength={200} value={form.name} onInput={set("name")} /></div>
      <div><label for="tsubject">Subject of its envelopes (may be empty)</label><input id="tsubject" maxLength={4000} value={form.subject} onInput={set("subject")} /></div>
      <div><label for="tmessage">Message (may be empty)</label><textarea id="tmessage" maxLength={4000} value={form.message} onInput={set("message")} /></div>
      <p class="quiet small">A word in double braces, such as {"{{place}}"}, is a variable: each envelope gives it a value.</p>
    </FormDialog>
  );
}

/** Asks before changes are lost that were not saved. */
export function LeaveDialog({ editor, onLeave, onClose }: { editor: Editor; onLeave: () => void; onClose: () => void }) {
  const save = async () => {
    await editor.save();
    const { told } = editor.snapshot();
    if (editor.dirty) throw new Error(told || errorText("It could not be saved."));
    onLeave();
  };
  return (
    <FormDialog title="Save what you changed?" label="Save and close" work={save} onClose={onClose} other={{ label: "Close without saving", work: async () => onLeave() }}>
      <p>Saving makes a new version of the template. Envelopes that were made of it stay as they are.</p>
    </FormDialog>
  );
}
