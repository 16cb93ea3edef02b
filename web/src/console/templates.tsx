import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { formatTime, hasRole, query, useLoad, type Client, type Identity, type Paged } from "./api";
import { Empty } from "./empty";
import { ActionButton, Badge, Confirm, ErrorNotice, FormDialog, Pager, Table } from "./parts";
import { listHref, useFilters, usePageTitle } from "./route";
import type { Template, TemplateSummary } from "./template";
import { TenantField } from "./tenant";
import { UseTemplate } from "./usetemplate";

const counted = (n: number, one: string): string => `${n.toLocaleString()} ${one}${n === 1 ? "" : "s"}`;

export function Templates({ client, who }: { client: Client; who: Identity }) {
  usePageTitle("Templates");
  const { get, set } = useFilters();
  const [making, setMaking] = useState(false);
  const sender = hasRole(who, "sender");
  const tenant = get("tenant") || (who.app.tenants[0] ?? "");
  const archived = Boolean(get("archived"));
  const { data, problem, stale } = useLoad<Paged<TemplateSummary>>(client, `/v1/templates?${query({ tenantId: tenant, q: get("q"), archived: archived ? "true" : "", cursor: get("cursor"), pageSize: 20 })}`);
  const filtered = Boolean(get("q") || get("tenant") || get("cursor") || archived);
  const button = <button type="button" class="small" onClick={() => setMaking(true)}>New template</button>;
  return (
    <>
      <div class="row head"><Title>Templates</Title>{sender && (filtered || (data?.data.length ?? 0) > 0) && button}</div>
      {making && <NewTemplate client={client} who={who} onClose={() => setMaking(false)} />}
      <ErrorNotice text={problem} />
      {data && data.data.length === 0 && !filtered ? (
        <Empty icon="file" title="No templates yet" action={sender && button}>
          A template is a document with its fields and roles, such as “Tenant” and “Landlord”. Create envelopes from it by naming the person for each role, one at a time or from a CSV file. {sender ? "Start from a PDF, or open an envelope and choose “Save as template”." : "Senders create templates here; applications use the API."}
        </Empty>
      ) : (
        <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
          <div><label for="tsearch">Search</label><input id="tsearch" type="search" placeholder="Name contains" maxLength={200} value={get("q")} onInput={(e) => set({ q: e.currentTarget.value })} /></div>
          {who.app.tenants.length !== 1 && <div><label for="ttenant">Workspace</label>{who.app.tenants.length > 1
            ? <select id="ttenant" value={tenant} onChange={(e) => set({ tenant: e.currentTarget.value })}>{who.app.tenants.map((t) => <option key={t}>{t}</option>)}</select>
            : <input id="ttenant" maxLength={255} value={get("tenant")} onInput={(e) => set({ tenant: e.currentTarget.value })} />}</div>}
          <div class="tick"><label><input type="checkbox" checked={archived} onChange={(e) => set({ archived: e.currentTarget.checked ? "1" : "" })} /> Archived</label></div>
        </form>
      )}
      {data && (data.data.length > 0 || filtered) && (
        <>
          <Table label="Templates" head={["Name", "Version", "Workspace", "Changed", ...(sender && !archived ? ["Use"] : [])]}>
            {data.data.map((t) => (
              <tr key={t.id}>
                <td><a href={`#/templates/${t.id}`}><bdi>{t.name}</bdi></a></td>
                <td>{t.version}</td>
                <td>{t.tenantId === null ? <span class="quiet">all</span> : <bdi>{t.tenantId}</bdi>}</td>
                <td>{formatTime(t.updatedAt)}</td>
                {sender && !archived && <td><a href={`#/templates/${t.id}?use=1`} aria-label={`New envelope from ${t.name}`}>New envelope</a></td>}
              </tr>
            ))}
          </Table>
          {data.data.length === 0 && <p class="quiet">No matches.</p>}
          <Pager cursor={get("cursor")} next={data.nextCursor} stale={stale} onPage={(cursor) => set({ cursor })} />
        </>
      )}
    </>
  );
}

export function TemplatePage({ client, who, id }: { client: Client; who: Identity; id: string }) {
  const { data: t, problem, reload } = useLoad<Template>(client, `/v1/templates/${id}`);
  const { get, set } = useFilters();
  const [archiving, setArchiving] = useState(false);
  usePageTitle(t ? t.name : "Template");
  if (!t) return <><ErrorNotice text={problem} />{!problem && <p class="quiet">One moment …</p>}</>;
  const open = hasRole(who, "sender") && !t.archivedAt;
  return (
    <>
      <p class="small"><a href={listHref("templates")}>Templates</a></p>
      <div class="row head"><Title><bdi>{t.name}</bdi></Title>{t.archivedAt && <Badge>archived</Badge>}</div>
      <ErrorNotice text={problem} />
      {open && (
        <p class="row acts">
          <button type="button" class="small" onClick={() => set({ use: "1" })}>New envelope</button>
          <a class="button small plain" href={`#/bulk/new?template=${id}`}>Send to many</a>
          <a class="button small plain" href={`#/edit/${id}`}>Edit</a>
          <button type="button" class="plain small" onClick={() => setArchiving(true)}>Archive</button>
        </p>
      )}
      <div class="columns">
        <div class="stack">
          <section class="card">
            <h2>Roles</h2>
            <ul class="plainlist">{t.roles.map((r) => (
              <li key={r.role}><div><strong><bdi>{r.role}</bdi></strong> <Badge>{r.witnessFor ? "witness" : r.kind}</Badge><br />
                <span class="quiet small">step {r.routingOrder} · {r.authMethod.replace("_", " ")} · {counted(t.fields.filter((f) => f.role === r.role).length, "field")}</span></div></li>
            ))}</ul>
          </section>
          <section class="card">
            <h2>Documents</h2>
            <ul class="plainlist">{t.documents.map((d) => (
              <li key={d.id}><div><bdi>{d.name || "unnamed"}</bdi><br /><span class="quiet small">{counted(d.pageCount, "page")} · {Math.ceil(d.size / 1024).toLocaleString()} KiB</span></div>
                {!t.archivedAt && <ActionButton label="Download" name={`Download ${d.name}`} work={() => client.download(`/v1/templates/${id}/document?${query({ documentId: d.id })}`, d.name || "document.pdf")} />}</li>
            ))}</ul>
            {t.documents.length === 0 && <p class="quiet">No document yet. Add one in the builder.</p>}
          </section>
        </div>
        <div class="stack">
          <section class="card">
            <h2>Texts</h2>
            <dl class="facts">
              <dt>Subject</dt><dd><bdi>{t.subject ?? "–"}</bdi></dd><dt>Message</dt><dd><bdi>{t.message ?? "–"}</bdi></dd>
              <dt>Variables</dt><dd>{t.variables.join(", ") || "none"}</dd><dt>Workspace</dt><dd><bdi>{t.tenantId ?? "all"}</bdi></dd>
              {t.externalId && <><dt>External ID</dt><dd class="mono">{t.externalId}</dd></>}
            </dl>
          </section>
          <section class="card">
            <h2>Versions</h2>
            <ol class="timeline">{t.versions.slice(0, 20).map((v) => <li key={v.version}><time class="quiet small" dateTime={v.createdAt}>{formatTime(v.createdAt)}</time><strong>Version {v.version}</strong></li>)}</ol>
          </section>
        </div>
      </div>
      {open && get("use") && <UseTemplate client={client} who={who} template={t} onClose={() => set({ use: "" })} />}
      {archiving && <Confirm title="Archive this template?" text="No more envelopes can be created from it. Existing envelopes stay as they are. This can't be undone." label="Archive"
        work={async () => { await client.call(`/v1/templates/${id}`, { method: "DELETE" }); reload(); }} onClose={() => setArchiving(false)} />}
    </>
  );
}

/** Creates a template from files, and opens the builder. */
function NewTemplate({ client, who, onClose }: { client: Client; who: Identity; onClose: () => void }) {
  const [files, setFiles] = useState<readonly File[]>([]);
  const [name, setName] = useState("");
  const [roles, setRoles] = useState("");
  const [tenantId, setTenant] = useState(who.app.tenants[0] ?? "");
  const [chosen, setChosen] = useState(0); // how often files were
  const take = (list: FileList | null | undefined) => {
    const pdfs = [...(list ?? [])];
    setFiles(pdfs);
    setChosen(chosen + 1);
    if (!name && pdfs[0]) setName(pdfs[0].name.replace(/\.pdf$/i, ""));
  };
  const make = async (once: string) => {
    const key = `${once}-${chosen}`; // other files are another request
    const names = roles.split(",").map((r) => r.trim()).filter(Boolean);
    if (new Set(names).size < names.length) throw new Error("Two roles have the same name.");
    const form = new FormData();
    form.append("data", JSON.stringify({ tenantId: tenantId || null, name, roles: names.map((role, i) => ({ role, routingOrder: i + 1 })) }));
    form.append("file", files[0]!, files[0]!.name);
    let made = await client.call<Template>("/v1/templates", { body: form, key });
    for (const file of files.slice(1)) {
      const more = new FormData();
      more.append("data", JSON.stringify({ documents: made.documents.map((d) => ({ id: d.id })) }));
      more.append("file", file, file.name);
      made = await client.call<Template>(`/v1/templates/${made.id}`, { method: "PATCH", body: more });
    }
    location.hash = `#/edit/${made.id}`;
  };
  return (
    <FormDialog title="New template" label="Continue" work={make} onClose={onClose}>
      <div onDragOver={(e) => e.preventDefault()} onDrop={(e) => { e.preventDefault(); take(e.dataTransfer?.files); }}>
        <label for="newfiles">Drop PDFs here or browse</label>
        <input id="newfiles" data-first type="file" accept="application/pdf" multiple required={files.length === 0} onChange={(e) => take(e.currentTarget.files)} />
        {files.length > 1 && <p class="quiet small">{files.map((f) => f.name).join(", ")}</p>}
      </div>
      <div><label for="newtname">Name</label><input id="newtname" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
      <div><label for="newroles">Roles in signing order, separated by commas</label><input id="newroles" required placeholder="Tenant, Landlord" maxLength={2000} value={roles} onInput={(e) => setRoles(e.currentTarget.value)} /></div>
      <TenantField who={who} value={tenantId} onChange={setTenant} all />
    </FormDialog>
  );
}

/** Creates a template from an envelope: its documents and fields, with roles in place of its persons. */
export function TemplateOfEnvelope({ client, envelope, onClose }: { client: Client; envelope: { id: string; tenantId: string; subject: string | null }; onClose: () => void }) {
  const [name, setName] = useState(envelope.subject ?? "");
  const make = async (key: string) => {
    const made = await client.call<TemplateSummary>("/v1/templates", { body: { tenantId: envelope.tenantId, name, fromEnvelope: envelope.id }, key });
    location.hash = `#/templates/${made.id}`;
  };
  return (
    <FormDialog title="Save as template" label="Save template" work={make} onClose={onClose}>
      <p>The template copies documents, fields and texts. Recipients become roles in the same steps.</p>
      <div><label for="newtname">Name</label><input id="newtname" data-first required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
    </FormDialog>
  );
}
