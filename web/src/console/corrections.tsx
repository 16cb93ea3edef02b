import { useState } from "preact/hooks";
import { ApiError } from "../ui/http";
import { type Client, type CopyRecipient, type Signer } from "./api";
import { FormDialog } from "./parts";

interface DialogProps { client: Client; envelope: string; onDone: (words: string) => void; onClose: () => void }

const methods: Record<string, string> = { none: "none", email_otp: "code by email", sms_otp: "code by text message" };

/** Corrects the email address of a signer, who stays the same person. */
export function CorrectEmailDialog({ client, envelope, signer, onDone, onClose }: DialogProps & { signer: Signer }) {
  const [email, setEmail] = useState(signer.email);
  const work = async (key: string) => {
    if (email.trim() === signer.email) throw new Error("Enter the correct address.");
    const made = await client.call<Signer>(`/v1/envelopes/${envelope}/signers/${signer.id}/replace`, { body: { name: signer.name, email, phone: signer.phone ?? null }, key });
    onDone(`${signer.name}'s email was updated.${made.status === "pending" ? "" : " A new invitation was sent."}`);
  };
  return (
    <FormDialog title={`Correct the email of ${signer.name}`} label="Save" work={work} onClose={onClose}>
      <p>The link sent to the old address stops working.{["sent", "viewed"].includes(signer.status) ? " We send an invitation to the new one." : ""}</p>
      <div><label for="cmail">Email</label><input id="cmail" data-first type="email" required maxLength={254} autocomplete="off" value={email} onInput={(e) => setEmail(e.currentTarget.value)} /></div>
    </FormDialog>
  );
}

/** Files an envelope under labels. */
export function LabelsDialog({ client, envelope, labels, onDone, onClose }: DialogProps & { labels: string[] }) {
  const [text, setText] = useState(labels.join("\n"));
  const work = async () => {
    const chosen = [...new Set(text.split("\n").map((l) => l.trim()).filter(Boolean))];
    await client.call(`/v1/envelopes/${envelope}`, { method: "PATCH", body: { labels: chosen } });
    onDone("Labels saved.");
  };
  return (
    <FormDialog title="Labels" label="Save" work={work} onClose={onClose}>
      <div><label for="elabels">One label per line, at most 20</label><textarea id="elabels" data-first rows={5} value={text} onInput={(e) => setText(e.currentTarget.value)} /></div>
      <p class="quiet small">Labels help you find envelopes. Recipients don't see them.</p>
    </FormDialog>
  );
}

/** Reassigns a signer's place to another person, or replaces a recipient of copies. */
export function ReplaceDialog({ client, envelope, signer, onDone, onClose }: DialogProps & { signer: Signer | CopyRecipient }) {
  const copy = !("authMethod" in signer);
  const [form, setForm] = useState({ name: "", email: "", phone: "", authMethod: copy ? "" : signer.authMethod, reason: "" });
  const set = (k: keyof typeof form) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  const work = async (key: string) => {
    const reason = form.reason || null;
    const body = copy ? { name: form.name, email: form.email, reason } : { ...form, phone: form.phone || null, reason };
    const made = await client.call<Signer>(`/v1/envelopes/${envelope}/signers/${signer.id}/replace`, { body, key });
    if (copy) onDone(made.status === "pending" ? `${made.name} receives the copy instead of ${signer.name}.` : `${made.name} receives the copy instead of ${signer.name} and is notified by email.`);
    else onDone(made.name === signer.name ? `${signer.name}'s email was updated.${made.status === "pending" ? "" : " A new invitation was sent."}` : `${made.name} signs instead of ${signer.name}.${made.status === "pending" ? "" : " An invitation was sent."}`);
  };
  return (
    <FormDialog title={copy ? `Replace ${signer.name}?` : `Reassign from ${signer.name}?`} label={copy ? "Replace" : "Reassign"} tone="bad" work={work} onClose={onClose}>
      {copy ? <p>We send the files to another address when everyone has signed. To correct an address, enter the same name again.</p> : <p>The link of <bdi>{signer.name}</bdi> stops working, and entries and consent made with it are lost. Fields and signing order stay. <bdi>{signer.name}</bdi> can no longer open the documents, but keeps the emails already received.</p>}
      <div><label for="rname">Name</label><input id="rname" data-first required maxLength={255} autocomplete="off" value={form.name} onInput={set("name")} /></div>
      <div><label for="rmail">Email</label><input id="rmail" type="email" required maxLength={254} autocomplete="off" value={form.email} onInput={set("email")} /></div>
      {!copy && (
        <div><label for="rmethod">Identity check</label>
          <select id="rmethod" value={form.authMethod} onChange={set("authMethod")}>{Object.entries(methods).map(([m, words]) => <option key={m} value={m}>{words}</option>)}</select>
        </div>
      )}
      {(form.authMethod === "sms_otp" || form.phone) && <div><label for="rphone">Phone, such as +12025550123</label><input id="rphone" type="tel" required={form.authMethod === "sms_otp"} autocomplete="off" value={form.phone} onInput={set("phone")} /></div>}
      <div><label for="rreason">Reason (optional)</label><textarea id="rreason" maxLength={1000} value={form.reason} onInput={set("reason")} /></div>
    </FormDialog>
  );
}

/** A moment as a datetime-local field has it: in this browser's time zone, without seconds. */
function localTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Moves or removes the time until which an envelope can be signed. */
export function DeadlineDialog({ client, envelope, expiresAt, onDone, onClose }: DialogProps & { expiresAt: string | null }) {
  const [at, setAt] = useState(expiresAt ? localTime(new Date(expiresAt)) : "");
  const [none, setNone] = useState(false);
  const work = async () => {
    try {
      await client.call(`/v1/envelopes/${envelope}`, { method: "PATCH", body: { expiresAt: none ? null : new Date(at).toISOString() } });
    } catch (e) {
      if (e instanceof ApiError && e.errors.expiresAt) throw new Error("The deadline must be in the future, at most 3650 days ahead.");
      throw e;
    }
    onDone(none ? "The envelope no longer has a deadline." : "Deadline changed. Links already sent work until then, for at most 30 days after sending.");
  };
  return (
    <FormDialog title="Change deadline" label="Change" work={work} onClose={onClose}>
      <p>Nobody can sign after the deadline. Recipients are not emailed about the change.</p>
      <div><label for="deadline">Deadline, in your time ({Intl.DateTimeFormat().resolvedOptions().timeZone})</label>
        <input id="deadline" data-first type="datetime-local" required={!none} disabled={none} value={at} onInput={(e) => setAt(e.currentTarget.value)} />
      </div>
      <label class="check"><input type="checkbox" checked={none} onChange={(e) => setNone(e.currentTarget.checked)} /> No deadline</label>
    </FormDialog>
  );
}
