import { useEffect, useState } from "preact/hooks";
import { AddressHint } from "../ui/AddressHint";
import { ContactBox } from "../ui/ContactBox";
import { documentName, titleOf } from "../ui/documents";
import { Icon } from "../ui/parts";
import { recipientsOf, type Client, type Identity } from "./api";
import { DocumentFiles } from "./documentfiles";
import { useFilePasswords } from "./filepasswords";
import { FormDialog } from "./parts";
import { rich, t } from "./texts";
import { useWorkspace, useWorkspaces, WorkspaceField } from "./workspace";

interface Person { id: number; name: string; email: string; phone: string | null }

const mostPeople = 50;

/** Creates a draft from files and recipients, and opens the builder. */
export function NewEnvelope({ client, who, onClose }: { client: Client; who: Identity; onClose: () => void }) {
  const [files, setFiles] = useState<readonly File[]>([]);
  const [subject, setSubject] = useState("");
  const [people, setPeople] = useState<readonly Person[]>([{ id: 0, name: "", email: "", phone: null }]);
  const [signing, setSigning] = useState(false);
  // The added recipient moves the checkbox down, perhaps out of the window.
  useEffect(() => { if (document.activeElement?.id === "newme") document.activeElement.scrollIntoView({ block: "center" }); }, [signing]);
  const [workspace, setWorkspace] = useWorkspace();
  const { used } = useWorkspaces();
  const [chosen, setChosen] = useState(0); // number of times that files were selected
  const { problems, upload } = useFilePasswords();
  const contacts = (search: string) => recipientsOf(client)(search, workspace);
  const me = who.user;
  const set = (id: number, change: Partial<Person>) => setPeople((old) => old.map((p) => (p.id === id ? { ...p, ...change } : p)));
  const take = (list: readonly File[]) => {
    setFiles(list);
    setChosen(chosen + 1);
    if (!subject && list[0]) setSubject(titleOf(list[0]).slice(0, 255));
  };
  const make = async (once: string) => {
    const key = `${once}-${chosen}`; // selecting other files makes a different request
    const first = files[0]!;
    // The sender signs first, so the signing page can open as soon as the envelope is sent.
    const signers = [...(signing && me ? [{ name: me.name, email: me.email }] : []), ...people.map(({ name, email, phone }) => ({ name, email, ...(phone ? { phone } : {}) }))];
    const form = new FormData();
    form.append("data", JSON.stringify({ tenantId: workspace, subject: subject || null, signers: signers.map((s, i) => ({ ...s, routingOrder: i + 1 })) }));
    form.append("file", first, first.name);
    const draft = await upload(first, (headers) => client.call<{ id: string }>("/v1/envelopes", { body: form, key, headers }));
    for (const [i, file] of files.slice(1).entries()) {
      const { documentId } = await upload(file, (headers) => client.call<{ documentId: string }>(`/v1/envelopes/${draft.id}/document`, { body: file, key: `${key}-${i}`, headers }));
      await client.call(`/v1/envelopes/${draft.id}/documents/${documentId}`, { method: "PATCH", body: { name: documentName(file) } });
    }
    used(workspace);
    location.hash = `#/build/${draft.id}`;
  };
  const several = people.length > 1 || signing;
  return (
    <FormDialog title={t("newEnvelope")} label={t("continue")} work={make} onClose={onClose}>
      <DocumentFiles files={files} problems={problems} onTake={take} />
      <div><label for="newsubject">{t("subject")}</label><input id="newsubject" maxLength={255} value={subject} onInput={(e) => setSubject(e.currentTarget.value)} /></div>
      <fieldset class="recipients">
        <legend>{t("recipients")}</legend>
        <ol class={several ? "numbered" : ""}>
          {signing && me && <li class="me"><span><strong><bdi>{me.name}</bdi></strong> <span class="quiet small"><bdi>{me.email}</bdi></span></span></li>}
          {people.map((p, i) => (
            <li key={p.id}>
              <ContactBox id={i ? `newname${i}` : "newname"} label={t("name")} listLabel={t("contacts")} first={false} value={p.name} contacts={contacts} onInput={(name) => set(p.id, { name, phone: null })} onTake={(c) => set(p.id, { name: c.name, email: c.email, phone: c.phone })} />
              <div><label for={i ? `newemail${i}` : "newemail"}>{t("email")}</label>
                <input id={i ? `newemail${i}` : "newemail"} type="email" required maxLength={254} autocomplete="off" value={p.email} onInput={(e) => set(p.id, { email: e.currentTarget.value })} />
                <AddressHint address={p.email} text={(address) => t("didYouMean", { address })} onTake={(email) => set(p.id, { email })} /></div>
              {people.length > 1 && <button type="button" class="bare small" aria-label={t("removeRecipient", { name: p.name || String(i + 1) })} onClick={() => setPeople(people.filter((o) => o !== p))}><Icon name="cross" size={16} /></button>}
            </li>
          ))}
        </ol>
        <div class="row">
          {people.length < mostPeople && <button type="button" class="plain small" onClick={() => setPeople([...people, { id: Math.max(...people.map((p) => p.id)) + 1, name: "", email: "", phone: null }])}><Icon name="plus" size={16} />{t("addRecipient")}</button>}
          {me && <label class="check"><input id="newme" type="checkbox" checked={signing} onChange={(e) => setSigning(e.currentTarget.checked)} /> {t("iSignToo")}</label>}
        </div>
      </fieldset>
      <WorkspaceField value={workspace} onChange={setWorkspace} />
      <p class="quiet small">{rich("sendingOften", { link: <a href="#/templates">{t("startFromTemplate")}</a> })}</p>
    </FormDialog>
  );
}
