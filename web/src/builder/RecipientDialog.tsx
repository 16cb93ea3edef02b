import { useState } from "preact/hooks";
import { AddressHint } from "../ui/AddressHint";
import { ContactBox, type Contacts } from "../ui/ContactBox";
import type { Editor, RecipientContent, RecipientEdit } from "./editor";
import { recipientKinds, type AuthMethod, type Recipient, type RecipientKind } from "./model";
import { FormDialog } from "./parts";
import { freshRole } from "./steps";
import { t, type TextKey } from "./texts";

interface Props {
  editor: Editor;
  recipient: Recipient | null;
  recipients: readonly Recipient[];
  copies: readonly Recipient[];
  /** The kind of a new recipient. */
  initial?: RecipientKind;
  onMade: (id: string) => void;
  onClose: () => void;
  contacts?: Contacts;
}

/** Creates or edits a recipient, or a role in a template. */
export function RecipientDialog({ editor, recipient, recipients, copies, initial, onMade, onClose, contacts }: Props) {
  const roles = Boolean(editor.texts);
  const [name, setName] = useState(recipient?.name ?? "");
  const [email, setEmail] = useState(recipient?.email ?? "");
  const [phone, setPhone] = useState(recipient?.phone ?? "");
  const [authMethod, setAuth] = useState<AuthMethod>(recipient?.authMethod ?? "email_otp");
  const [kind, setKind] = useState<RecipientKind | "witness">(recipient?.witnessFor ? "witness" : recipient?.kind ?? initial ?? "signer");
  const [host, setHost] = useState(recipient?.host ?? { name: "", email: "" });
  const principals = recipients.filter((r) => r.id !== recipient?.id && !r.witnessFor && ["signer", "in_person"].includes(r.kind ?? "signer"));
  const [principal, setPrincipal] = useState(principals.find((r) => r.role && r.role === recipient?.witnessFor)?.id ?? principals[0]?.id ?? "");
  const inPerson = kind === "in_person";
  const offered = (Object.entries(recipientKinds) as [RecipientKind | "witness", TextKey][]).filter(([k]) => !recipient || (k === "copy") === (recipient.kind === "copy"));
  if (principals.length > 0 && recipient?.kind !== "copy") offered.splice(1, 0, ["witness", "kindWitness"]);
  const save = async () => {
    const also = new Map<string, RecipientEdit>();
    let witnessFor: string | undefined;
    if (kind === "witness") {
      const whom = principals.find((r) => r.id === principal);
      if (!whom) throw new Error(t("sayWhose"));
      witnessFor = whom.role;
      if (!witnessFor) {
        witnessFor = freshRole(recipients);
        also.set(whom.id, { role: witnessFor });
      }
    }
    const content: RecipientEdit = {
      name, kind: kind === "witness" ? "signer" : kind, ...(roles ? { role: name.trim() } : { email, ...(inPerson ? { host } : {}) }),
      ...(kind === "copy" ? {} : { authMethod: inPerson && authMethod === "email_otp" ? "none" : authMethod, ...(roles ? {} : { phone: phone || null }) }),
      ...(witnessFor || recipient?.witnessFor ? { witnessFor } : {}),
    };
    if (recipient) await editor.parts.editRecipients(new Map([...also, [recipient.id, content]]));
    else {
      const next = Math.max(0, ...recipients.map((r) => r.routingOrder)) + 1;
      const made = await editor.parts.addRecipient({ email: "", phone: null, authMethod: "none", routingOrder: next, ...content } as RecipientContent, also);
      if (kind !== "copy") onMade(made);
    }
  };
  const remove = async () => { await editor.parts.removeRecipient(recipient!.id); };
  // A template must have at least one role.
  const last = roles && recipient !== null && recipients.length + copies.length === 1;
  return (
    <FormDialog title={t(recipient ? (roles ? "editRole" : "editRecipient") : roles ? "addRole" : "addRecipient")} label={t(recipient ? "save" : "add")} work={save} onClose={onClose}
      other={recipient && !last ? { label: t("removeWithFields"), work: remove } : undefined}>
      {roles || !contacts ? <div><label for="rname">{t(roles ? "roleName" : "name")}</label><input id="rname" data-first required maxLength={roles ? 64 : 255} autocomplete="off" value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
        : <ContactBox label={t("name")} listLabel={t("contacts")} value={name} contacts={contacts} onInput={setName} onTake={(c) => { setName(c.name); setEmail(c.email); setPhone(c.phone ?? ""); }} />}
      {!roles && <div><label for="remail">{t("email")}</label><input id="remail" type="email" required maxLength={254} autocomplete="off" value={email} onInput={(e) => setEmail(e.currentTarget.value)} />
        <AddressHint address={email} text={(address) => t("didYouMean", { address })} onTake={setEmail} /></div>}
      <div><label for="rkind">{t("whatTheyDo")}</label>
        <select id="rkind" value={kind} onChange={(e) => setKind(e.currentTarget.value as RecipientKind | "witness")}>{offered.map(([k, does]) => <option key={k} value={k}>{t(does)}</option>)}</select></div>
      {kind === "witness" && (
        <div><label for="rwitness">{t("whoseSignature")}</label>
          <select id="rwitness" value={principal} onChange={(e) => setPrincipal(e.currentTarget.value)}>{principals.map((r) => <option key={r.id} value={r.id}>{r.name}</option>)}</select></div>
      )}
      {inPerson && !roles && (
        <><div><label for="rhost">{t("hostName")}</label><input id="rhost" required maxLength={255} value={host.name} onInput={(e) => setHost({ ...host, name: e.currentTarget.value })} /></div>
          <div><label for="rhostmail">{t("hostEmail")}</label><input id="rhostmail" type="email" required maxLength={254} value={host.email} onInput={(e) => setHost({ ...host, email: e.currentTarget.value })} /></div></>
      )}
      {kind !== "copy" && <div><label for="rauth">{t("provesBy")}</label>
        <select id="rauth" value={inPerson && authMethod === "email_otp" ? "none" : authMethod} onChange={(e) => setAuth(e.currentTarget.value as AuthMethod)}>
          {!inPerson && <option value="email_otp">{t("byEmail")}</option>}<option value="sms_otp">{t("bySMS")}</option><option value="none">{t("byLink")}</option>
        </select></div>}
      {kind !== "copy" && !roles && authMethod === "sms_otp" && <div><label for="rphone">{t("phone")}</label><input id="rphone" type="tel" required placeholder="+44 20 7946 0958" value={phone} onInput={(e) => setPhone(e.currentTarget.value)} /></div>}
    </FormDialog>
  );
}
