import { useState } from "preact/hooks";
import { errorText, FormDialog } from "./parts";
import type { DraftEditor } from "./draft";
import { colourOf, recipientKinds, type AuthMethod, type Recipient, type RecipientKind } from "./model";

interface Props { editor: DraftEditor; recipients: readonly Recipient[]; copies: readonly Recipient[]; active: string; editable: boolean; onActive: (id: string) => void }

/** Who signs, in steps: those of one step sign at the same time. */
export function Recipients({ editor, recipients, copies, active, editable, onActive }: Props) {
  const [editing, setEditing] = useState<Recipient | "new" | null>(null);
  const [problem, setProblem] = useState("");
  const steps = [...new Set(recipients.map((r) => r.routingOrder))].sort((a, b) => a - b);
  const ordered = [...recipients].sort((a, b) => a.routingOrder - b.routingOrder);
  const move = async (r: Recipient, to: number) => {
    setProblem("");
    try {
      await editor.act("PATCH", `/signers/${r.id}`, { routingOrder: to });
    } catch (e) {
      setProblem(errorText(e));
    }
  };
  return (
    <section aria-labelledby="brecipients">
      <div class="bhead"><h2 id="brecipients">Recipients</h2>{editable && <button type="button" class="bare small" onClick={() => setEditing("new")}>Add</button>}</div>
      {recipients.length === 0 && <p class="quiet small">Add who has to sign. Fields belong to a person.</p>}
      <div class="brecipients" role="radiogroup" aria-label="New fields are for">
        {ordered.map((r, i) => (
          <div key={r.id}>
            {(i === 0 || ordered[i - 1]!.routingOrder !== r.routingOrder) && steps.length > 1 && <span class="quiet small bstep">Step {steps.indexOf(r.routingOrder) + 1}</span>}
            <div class={`brecipient ${colourOf(recipients, r.id)} ${r.id === active ? "on" : ""}`}>
              <button type="button" role="radio" aria-checked={r.id === active} class="bchoose" onClick={() => onActive(r.id)}>
                <i class="bdot" /><span><strong><bdi>{r.name || "No name yet"}</bdi></strong><br /><span class="quiet small"><bdi>{r.email}</bdi>{r.kind && r.kind !== "signer" && <> · {recipientKinds[r.kind]}</>}</span></span>
              </button>
              {editable && (
                <span class="bmini">
                  <button type="button" aria-label={`${r.name}: sign earlier`} title="Sign earlier" disabled={r.routingOrder <= 1} onClick={() => void move(r, r.routingOrder - 1)}>↑</button>
                  <button type="button" aria-label={`${r.name}: sign later`} title="Sign later" disabled={r.routingOrder > recipients.length} onClick={() => void move(r, r.routingOrder + 1)}>↓</button>
                  <button type="button" aria-label={`Edit ${r.name}`} title="Edit" onClick={() => setEditing(r)}>⋯</button>
                </span>
              )}
            </div>
          </div>
        ))}
      </div>
      {copies.length > 0 && (
        <>
          <span class="quiet small bstep">{recipientKinds.copy}</span>
          <ul class="brecipients">{copies.map((r) => <li key={r.id} class="bcopy"><span class="small"><bdi>{r.name}</bdi><br /><span class="quiet"><bdi>{r.email}</bdi></span></span>{editable && <span class="bmini"><button type="button" aria-label={`Edit ${r.name}`} title="Edit" onClick={() => setEditing(r)}>⋯</button></span>}</li>)}</ul>
        </>
      )}
      {problem && <p class="notice bad small" role="alert">{problem}</p>}
      {editing && <RecipientDialog editor={editor} recipient={editing === "new" ? null : editing} next={Math.max(0, ...recipients.map((r) => r.routingOrder)) + 1} onMade={onActive} onClose={() => setEditing(null)} />}
    </section>
  );
}

function RecipientDialog({ editor, recipient, next, onMade, onClose }: { editor: DraftEditor; recipient: Recipient | null; next: number; onMade: (id: string) => void; onClose: () => void }) {
  const [name, setName] = useState(recipient?.name ?? "");
  const [email, setEmail] = useState(recipient?.email ?? "");
  const [phone, setPhone] = useState(recipient?.phone ?? "");
  const [authMethod, setAuth] = useState<AuthMethod>(recipient?.authMethod ?? "email_otp");
  const [kind, setKind] = useState<RecipientKind>(recipient?.kind ?? "signer");
  const [hostName, setHostName] = useState(recipient?.host?.name ?? "");
  const [hostEmail, setHostEmail] = useState(recipient?.host?.email ?? "");
  const save = async () => {
    const body = { name, email, ...(kind === "copy" ? {} : { phone: phone || null, authMethod: kind === "in_person" && authMethod === "email_otp" ? "none" : authMethod }), kind, ...(kind === "in_person" ? { host: { name: hostName, email: hostEmail } } : {}) };
    if (recipient) await editor.act("PATCH", `/signers/${recipient.id}`, body);
    else {
      const made = await editor.act<{ id: string }>("POST", "/signers", { ...body, routingOrder: next });
      if (kind !== "copy") onMade(made.id);
    }
  };
  return (
    <FormDialog title={recipient ? "Edit recipient" : "Add recipient"} label={recipient ? "Save" : "Add"} work={save} onClose={onClose}
      extra={recipient && <button type="button" class="bare bad-text" onClick={() => void editor.act("DELETE", `/signers/${recipient.id}`).then(onClose)}>Remove, with the fields</button>}>
      <div><label for="rname">Name</label><input id="rname" data-first required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
      <div><label for="remail">E-mail address</label><input id="remail" type="email" required maxLength={254} value={email} onInput={(e) => setEmail(e.currentTarget.value)} /></div>
      <div><label for="rkind">What they do</label>
        <select id="rkind" value={kind} onChange={(e) => setKind(e.currentTarget.value as RecipientKind)}>{Object.entries(recipientKinds).filter(([k]) => !recipient || (k === "copy") === (recipient.kind === "copy")).map(([k, words]) => <option key={k} value={k}>{words}</option>)}</select></div>
      {kind === "in_person" && (
        <><div><label for="rhost">Host: name</label><input id="rhost" required maxLength={255} value={hostName} onInput={(e) => setHostName(e.currentTarget.value)} /></div>
          <div><label for="rhostmail">Host: e-mail address, which gets the link</label><input id="rhostmail" type="email" required maxLength={254} value={hostEmail} onInput={(e) => setHostEmail(e.currentTarget.value)} /></div></>
      )}
      {kind !== "copy" && <div><label for="rauth">Proves who they are by</label>
        <select id="rauth" value={authMethod} onChange={(e) => setAuth(e.currentTarget.value as AuthMethod)}>
          {kind !== "in_person" && <option value="email_otp">a code by e-mail</option>}<option value="sms_otp">a code by text message</option><option value="none">the link alone</option>
        </select></div>}
      {kind !== "copy" && authMethod === "sms_otp" && <div><label for="rphone">Telephone number, with the country's code</label><input id="rphone" type="tel" required placeholder="+44 20 7946 0958" value={phone} onInput={(e) => setPhone(e.currentTarget.value)} /></div>}
    </FormDialog>
  );
}
