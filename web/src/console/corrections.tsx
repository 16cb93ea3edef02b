import { useState } from "preact/hooks";
import { ApiError } from "../ui/http";
import { type Client, type CopyRecipient, type Envelope, type Signer } from "./api";
import { FormDialog } from "./parts";
import { AddressHint } from "../ui/AddressHint";
import { t, type TextKey } from "./texts";

/**
 * Replaces the person of a recipient, unless another user has changed the recipient since it was displayed. A
 * replacement that has already taken effect, because a response was lost or the other user entered the same person, is
 * not repeated.
 */
async function replacePerson(client: Client, envelope: string, shown: Signer | CopyRecipient, body: { name: string; email: string } & Record<string, unknown>, key: string): Promise<Signer> {
  for (let attempt = 1; ; attempt++) {
    let version = "";
    const e = await client.call<Envelope>(`/v1/envelopes/${envelope}`, { onHeaders: (h) => { version = h.get("ETag") ?? ""; } });
    const now = [...e.signers, ...(e.copies ?? [])].find((r) => r.id === shown.id);
    const is = (r: { name: string; email: string }) => now?.name === r.name.trim() && now.email.toLowerCase() === r.email.trim().toLowerCase();
    if (now && !is(shown)) {
      if (is(body)) return now as Signer;
      throw new Error(t("recipientChanged", { name: now.name, email: now.email }));
    }
    try {
      return await client.call<Signer>(`/v1/envelopes/${envelope}/signers/${shown.id}/replace`, { body, key, headers: { "If-Match": version } });
    } catch (x) {
      if (!(x instanceof ApiError && x.status === 412) || attempt === mostAttempts) throw x; // the version can differ because a signer opened the link, for example
    }
  }
}

const mostAttempts = 5;

interface DialogProps { client: Client; envelope: string; onDone: (words: string) => void; onClose: () => void }

const methods: Record<string, TextKey> = { none: "checkNone", email_otp: "proofEmail", sms_otp: "proofSms" };

/** Corrects the email address of a signer. The signer remains the same person. */
export function CorrectEmailDialog({ client, envelope, signer, onDone, onClose }: DialogProps & { signer: Signer }) {
  const [email, setEmail] = useState(signer.email);
  const work = async (key: string) => {
    if (email.trim() === signer.email) throw new Error(t("enterCorrectAddress"));
    const made = await replacePerson(client, envelope, signer, { name: signer.name, email, phone: signer.phone ?? null }, key);
    onDone(t(made.status === "pending" ? "emailUpdated" : "emailUpdatedInvited", { name: signer.name }));
  };
  return (
    <FormDialog title={t("correctEmailTitle", { name: signer.name })} label={t("save")} work={work} onClose={onClose}>
      <p>{t(["sent", "viewed"].includes(signer.status) ? "correctEmailTextInvited" : "correctEmailText")}</p>
      <div><label for="cmail">{t("email")}</label><input id="cmail" data-first type="email" required maxLength={254} autocomplete="off" value={email} onInput={(e) => setEmail(e.currentTarget.value)} />
        <AddressHint address={email} text={(address) => t("didYouMean", { address })} onTake={setEmail} /></div>
    </FormDialog>
  );
}

/** Sets the labels of an envelope. */
export function LabelsDialog({ client, envelope, labels, onDone, onClose }: DialogProps & { labels: string[] }) {
  const [text, setText] = useState(labels.join("\n"));
  const work = async () => {
    const chosen = [...new Set(text.split("\n").map((l) => l.trim()).filter(Boolean))];
    await client.call(`/v1/envelopes/${envelope}`, { method: "PATCH", body: { labels: chosen } });
    onDone(t("labelsSaved"));
  };
  return (
    <FormDialog title={t("labels")} label={t("save")} work={work} onClose={onClose}>
      <div><label for="elabels">{t("onePerLine")}</label><textarea id="elabels" data-first rows={5} value={text} onInput={(e) => setText(e.currentTarget.value)} /></div>
      <p class="quiet small">{t("labelsText")}</p>
    </FormDialog>
  );
}

/** Replaces a signer or a recipient of copies with another person. */
export function ReplaceDialog({ client, envelope, signer, onDone, onClose }: DialogProps & { signer: Signer | CopyRecipient }) {
  const copy = !("authMethod" in signer);
  const [form, setForm] = useState({ name: "", email: "", phone: "", authMethod: copy ? "" : signer.authMethod, reason: "" });
  const set = (k: keyof typeof form) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  const work = async (key: string) => {
    const reason = form.reason || null;
    const body = copy ? { name: form.name, email: form.email, reason } : { ...form, phone: form.phone || null, reason };
    const made = await replacePerson(client, envelope, signer, body, key);
    if (copy) onDone(t(made.status === "pending" ? "copyReplaced" : "copyReplacedTold", { name: made.name, before: signer.name }));
    else if (made.name === signer.name) onDone(t(made.status === "pending" ? "emailUpdated" : "emailUpdatedInvited", { name: signer.name }));
    else onDone(t(made.status === "pending" ? "signsInstead" : "signsInsteadInvited", { name: made.name, before: signer.name }));
  };
  return (
    <FormDialog title={t(copy ? "replaceTitle" : "reassignTitle", { name: signer.name })} label={t(copy ? "replace" : "reassign")} tone="bad" work={work} onClose={onClose}>
      <p>{t(copy ? "replaceText" : "reassignText", { name: signer.name })}</p>
      <div><label for="rname">{t("name")}</label><input id="rname" data-first required maxLength={255} autocomplete="off" value={form.name} onInput={set("name")} /></div>
      <div><label for="rmail">{t("email")}</label><input id="rmail" type="email" required maxLength={254} autocomplete="off" value={form.email} onInput={set("email")} />
        <AddressHint address={form.email} text={(address) => t("didYouMean", { address })} onTake={(email) => setForm({ ...form, email })} /></div>
      {!copy && (
        <div><label for="rmethod">{t("identityCheck")}</label>
          <select id="rmethod" value={form.authMethod} onChange={set("authMethod")}>{Object.entries(methods).map(([m, words]) => <option key={m} value={m}>{t(words)}</option>)}</select>
        </div>
      )}
      {(form.authMethod === "sms_otp" || form.phone) && <div><label for="rphone">{t("phoneSuchAs")}</label><input id="rphone" type="tel" required={form.authMethod === "sms_otp"} autocomplete="off" value={form.phone} onInput={set("phone")} /></div>}
      <div><label for="rreason">{t("reasonOptional")}</label><textarea id="rreason" maxLength={1000} value={form.reason} onInput={set("reason")} /></div>
    </FormDialog>
  );
}

/** Formats a time for a datetime-local field, in the browser's time zone and without seconds. */
function localTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Changes or removes the signing deadline of an envelope. */
export function DeadlineDialog({ client, envelope, expiresAt, onDone, onClose }: DialogProps & { expiresAt: string | null }) {
  const [at, setAt] = useState(expiresAt ? localTime(new Date(expiresAt)) : "");
  const [none, setNone] = useState(false);
  const work = async () => {
    try {
      await client.call(`/v1/envelopes/${envelope}`, { method: "PATCH", body: { expiresAt: none ? null : new Date(at).toISOString() } });
    } catch (e) {
      if (e instanceof ApiError && e.errors.expiresAt) throw new Error(t("deadlineRange"));
      throw e;
    }
    onDone(t(none ? "deadlineRemoved" : "deadlineChanged"));
  };
  return (
    <FormDialog title={t("changeDeadline")} label={t("change")} work={work} onClose={onClose}>
      <p>{t("extendText")}</p>
      <div><label for="deadline">{t("deadlineIn", { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}</label>
        <input id="deadline" data-first type="datetime-local" required={!none} disabled={none} value={at} onInput={(e) => setAt(e.currentTarget.value)} />
      </div>
      <label class="check"><input type="checkbox" checked={none} onChange={(e) => setNone(e.currentTarget.checked)} /> {t("noDeadline")}</label>
    </FormDialog>
  );
}
