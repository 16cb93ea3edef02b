import { useState } from "preact/hooks";
import type { Client, Identity } from "./api";
import { FormDialog } from "./parts";
import { TenantField, useWorkspace } from "./tenant";

/** Creates a draft from files, and opens the builder. */
export function NewEnvelope({ client, who, onClose }: { client: Client; who: Identity; onClose: () => void }) {
  const [files, setFiles] = useState<readonly File[]>([]);
  const [subject, setSubject] = useState("");
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [tenantId, setTenant] = useWorkspace(client, who);
  const [chosen, setChosen] = useState(0); // how often files were
  const take = (list: FileList | null | undefined) => {
    const pdfs = [...(list ?? [])];
    setFiles(pdfs);
    setChosen(chosen + 1);
    if (!subject && pdfs[0]) setSubject(pdfs[0].name.replace(/\.pdf$/i, ""));
  };
  const make = async (once: string) => {
    const key = `${once}-${chosen}`; // other files are another request
    const first = files[0];
    if (!first) throw new Error("Choose a PDF.");
    const form = new FormData();
    form.append("data", JSON.stringify({ tenantId, subject: subject || null, signers: [{ name, email }] }));
    form.append("file", first, first.name);
    const draft = await client.call<{ id: string }>("/v1/envelopes", { body: form, key });
    for (const [i, file] of files.slice(1).entries()) {
      const { documentId } = await client.call<{ documentId: string }>(`/v1/envelopes/${draft.id}/document`, { body: file, key: `${key}-${i}` });
      await client.call(`/v1/envelopes/${draft.id}/documents/${documentId}`, { method: "PATCH", body: { name: file.name } });
    }
    location.hash = `#/build/${draft.id}`;
  };
  return (
    <FormDialog title="New envelope" label="Continue" work={make} onClose={onClose}>
      <div onDragOver={(e) => e.preventDefault()} onDrop={(e) => { e.preventDefault(); take(e.dataTransfer?.files); }}>
        <label for="newfiles">Drop PDFs here or browse</label>
        <input id="newfiles" type="file" accept="application/pdf" multiple required={files.length === 0} onChange={(e) => take(e.currentTarget.files)} />
        {files.length > 1 && <p class="quiet small">{files.map((f) => f.name).join(", ")}</p>}
      </div>
      <div><label for="newname">First signer's name</label><input id="newname" required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
      <div><label for="newemail">Email address</label><input id="newemail" type="email" required maxLength={254} value={email} onInput={(e) => setEmail(e.currentTarget.value)} /></div>
      <div><label for="newsubject">Subject</label><input id="newsubject" maxLength={255} value={subject} onInput={(e) => setSubject(e.currentTarget.value)} /></div>
      <TenantField who={who} value={tenantId} onChange={setTenant} />
      <p class="quiet small">Sending this often? <a href="#/templates">Start from a template.</a></p>
    </FormDialog>
  );
}
