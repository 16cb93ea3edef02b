import { useState } from "preact/hooks";
import { titleOf } from "../ui/documents";
import { Title } from "../ui/parts";
import { formatTime, hasRole, query, useLoad, type Client, type Identity, type Paged } from "./api";
import { DocumentFiles } from "./documentfiles";
import { Empty } from "./empty";
import { useFilePasswords } from "./filepasswords";
import { ActionButton, Badge, Confirm, ErrorNotice, FormDialog, Pager, recipientKind, Table } from "./parts";
import { listHref, useFilters, usePageTitle } from "./route";
import { formatBytes } from "../ui/i18n";
import { listed, locale, t } from "./texts";
import type { Template, TemplateSummary } from "./template";
import { WorkspaceField } from "./workspace";
import { UseTemplate } from "./usetemplate";

export function Templates({ client, who }: { client: Client; who: Identity }) {
  usePageTitle(t("templates"));
  const { get, set } = useFilters();
  const [making, setMaking] = useState(false);
  const sender = hasRole(who, "sender");
  const tenant = get("tenant") || (who.app.tenants[0] ?? "");
  const archived = Boolean(get("archived"));
  const { data, problem, stale } = useLoad<Paged<TemplateSummary>>(client, `/v1/templates?${query({ tenantId: tenant, q: get("q"), archived: archived ? "true" : "", cursor: get("cursor"), pageSize: 20 })}`);
  const filtered = Boolean(get("q") || get("tenant") || get("cursor") || archived);
  const fresh = data?.data.length === 0 && !filtered;
  const button = <button type="button" class="small" onClick={() => setMaking(true)}>{t("newTemplate")}</button>;
  return (
    <>
      <div class="row head"><Title>{t("templates")}</Title>{sender && (filtered || (data?.data.length ?? 0) > 0) && button}</div>
      {making && <NewTemplate client={client} who={who} onClose={() => setMaking(false)} />}
      <ErrorNotice text={problem} />
      {fresh && (
        <Empty icon="file" title={t("noTemplates")} action={sender && button}>
          {t("templatesText")} {t(sender ? "templatesByYou" : "templatesBySenders")}
        </Empty>
      )}
      {(data ?? problem) && !fresh && (
        <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
          <div><label for="tsearch">{t("search")}</label><input id="tsearch" type="search" placeholder={t("nameContains")} maxLength={200} value={get("q")} onInput={(e) => set({ q: e.currentTarget.value })} /></div>
          {who.app.tenants.length !== 1 && <div><label for="ttenant">{t("workspace")}</label>{who.app.tenants.length > 1
            ? <select id="ttenant" value={tenant} onChange={(e) => set({ tenant: e.currentTarget.value })}>{who.app.tenants.map((name) => <option key={name}>{name}</option>)}</select>
            : <input id="ttenant" maxLength={255} value={get("tenant")} onInput={(e) => set({ tenant: e.currentTarget.value })} />}</div>}
          <div class="tick"><label><input type="checkbox" checked={archived} onChange={(e) => set({ archived: e.currentTarget.checked ? "1" : "" })} /> {t("archivedOnes")}</label></div>
        </form>
      )}
      {data && (data.data.length > 0 || filtered) && (
        <>
          <Table label={t("templates")} head={[t("name"), t("version"), t("workspace"), t("changed"), ...(sender && !archived ? [t("use")] : [])]}>
            {data.data.map((one) => (
              <tr key={one.id}>
                <td><a href={`#/templates/${one.id}`}><bdi>{one.name}</bdi></a></td>
                <td>{one.version}</td>
                <td>{one.tenantId === null ? <span class="quiet">{t("all")}</span> : <bdi>{one.tenantId}</bdi>}</td>
                <td>{formatTime(one.updatedAt)}</td>
                {sender && !archived && <td><a href={`#/templates/${one.id}?use=1`} aria-label={t("newEnvelopeFrom", { name: one.name })}>{t("newEnvelope")}</a></td>}
              </tr>
            ))}
          </Table>
          {data.data.length === 0 && <p class="quiet">{t("noMatches")}</p>}
          <Pager cursor={get("cursor")} next={data.nextCursor} stale={stale} onPage={(cursor) => set({ cursor })} />
        </>
      )}
    </>
  );
}

export function TemplatePage({ client, who, id }: { client: Client; who: Identity; id: string }) {
  const { data: template, problem, reload } = useLoad<Template>(client, `/v1/templates/${id}`);
  const { get, set } = useFilters();
  const [archiving, setArchiving] = useState(false);
  usePageTitle(template ? template.name : t("template"));
  if (!template) return <><ErrorNotice text={problem} />{!problem && <p class="quiet">{t("loading")}</p>}</>;
  const open = hasRole(who, "sender") && !template.archivedAt;
  return (
    <>
      <p class="small"><a href={listHref("templates")}>{t("templates")}</a></p>
      <div class="row head"><Title><bdi>{template.name}</bdi></Title>{template.archivedAt && <Badge>archived</Badge>}</div>
      <ErrorNotice text={problem} />
      {open && (
        <p class="row acts">
          <button type="button" class="small" onClick={() => set({ use: "1" })}>{t("newEnvelope")}</button>
          <a class="button small plain" href={`#/bulk/new?template=${id}`}>{t("sendToMany")}</a>
          <a class="button small plain" href={`#/edit/${id}`}>{t("edit")}</a>
          <button type="button" class="plain small" onClick={() => setArchiving(true)}>{t("archive")}</button>
        </p>
      )}
      <div class="columns">
        <div class="stack">
          <section class="card">
            <h2>{t("roles")}</h2>
            <ul class="plainlist">{template.roles.map((r) => (
              <li key={r.role}><div><strong><bdi>{r.role}</bdi></strong> <span class="badge">{recipientKind(r.witnessFor ? "witness" : r.kind)}</span><br />
                <span class="quiet small">{t("step", { n: r.routingOrder })} · {recipientKind(r.authMethod)} · {t("fieldCount", { n: template.fields.filter((f) => f.role === r.role).length })}</span></div></li>
            ))}</ul>
          </section>
          <section class="card">
            <h2>{t("documents")}</h2>
            <ul class="plainlist">{template.documents.map((d) => (
              <li key={d.id}><div><bdi>{d.name || t("unnamed")}</bdi><br /><span class="quiet small">{t("pageCount", { n: d.pageCount })} · {formatBytes(d.size, locale())}</span></div>
                {!template.archivedAt && <ActionButton label={t("download")} name={t("downloadName", { name: d.name || t("unnamed") })} work={() => client.download(`/v1/templates/${id}/document?${query({ documentId: d.id })}`, d.name || "document.pdf")} />}</li>
            ))}</ul>
            {template.documents.length === 0 && <p class="quiet">{t("noDocument")}</p>}
          </section>
        </div>
        <div class="stack">
          <section class="card">
            <h2>{t("texts")}</h2>
            <dl class="facts">
              <dt>{t("subject")}</dt><dd><bdi>{template.subject ?? "–"}</bdi></dd><dt>{t("message")}</dt><dd><bdi>{template.message ?? "–"}</bdi></dd>
              <dt>{t("variables")}</dt><dd>{listed(template.variables) || t("none")}</dd><dt>{t("workspace")}</dt><dd><bdi>{template.tenantId ?? t("all")}</bdi></dd>
              {template.externalId && <><dt>{t("externalId")}</dt><dd class="mono"><bdi>{template.externalId}</bdi></dd></>}
            </dl>
          </section>
          <section class="card">
            <h2>{t("versions")}</h2>
            <ol class="timeline">{template.versions.slice(0, 20).map((v) => <li key={v.version}><time class="quiet small" dateTime={v.createdAt}>{formatTime(v.createdAt)}</time><strong>{t("versionNumber", { n: v.version })}</strong></li>)}</ol>
          </section>
        </div>
      </div>
      {open && get("use") && <UseTemplate client={client} template={template} onClose={() => set({ use: "" })} />}
      {archiving && <Confirm title={t("archiveQuestion")} text={t("archiveText")} label={t("archive")}
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
  const [chosen, setChosen] = useState(0); // number of times that files were selected
  const { problems, upload } = useFilePasswords();
  const take = (list: readonly File[]) => {
    setFiles(list);
    setChosen(chosen + 1);
    if (!name && list[0]) setName(titleOf(list[0]));
  };
  const make = async (once: string) => {
    const key = `${once}-${chosen}`; // selecting other files makes a different request
    const names = roles.split(",").map((r) => r.trim()).filter(Boolean);
    if (new Set(names).size < names.length) throw new Error(t("sameRole"));
    const form = new FormData();
    form.append("data", JSON.stringify({ tenantId: tenantId || null, name, roles: names.map((role, i) => ({ role, routingOrder: i + 1 })) }));
    form.append("file", files[0]!, files[0]!.name);
    let made = await upload(files[0]!, (headers) => client.call<Template>("/v1/templates", { body: form, key, headers }));
    for (const file of files.slice(1)) {
      const more = new FormData();
      more.append("data", JSON.stringify({ documents: made.documents.map((d) => ({ id: d.id })) }));
      more.append("file", file, file.name);
      made = await upload(file, (headers) => client.call<Template>(`/v1/templates/${made.id}`, { method: "PATCH", body: more, headers }));
    }
    location.hash = `#/edit/${made.id}`;
  };
  return (
    <FormDialog title={t("newTemplate")} label={t("continue")} work={make} onClose={onClose}>
      <DocumentFiles files={files} problems={problems} onTake={take} />
      <div><label for="newtname">{t("name")}</label><input id="newtname" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
      <div><label for="newroles">{t("rolesInOrder")}</label><input id="newroles" required placeholder={t("rolesExample")} maxLength={2000} value={roles} onInput={(e) => setRoles(e.currentTarget.value)} /></div>
      <WorkspaceField value={tenantId} onChange={setTenant} all />
    </FormDialog>
  );
}

/** Creates a template from the documents and fields of an envelope, with roles instead of persons. */
export function TemplateOfEnvelope({ client, envelope, onClose }: { client: Client; envelope: { id: string; tenantId: string; subject: string | null }; onClose: () => void }) {
  const [name, setName] = useState(envelope.subject ?? "");
  const make = async (key: string) => {
    const made = await client.call<TemplateSummary>("/v1/templates", { body: { tenantId: envelope.tenantId, name, fromEnvelope: envelope.id }, key });
    location.hash = `#/templates/${made.id}`;
  };
  return (
    <FormDialog title={t("saveAsTemplate")} label={t("saveTemplate")} work={make} onClose={onClose}>
      <p>{t("saveAsTemplateText")}</p>
      <div><label for="newtname">{t("name")}</label><input id="newtname" data-first required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
    </FormDialog>
  );
}
