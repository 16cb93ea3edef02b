import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../ui/http";
import { Title } from "../ui/parts";
import { errorText, query, useKey, useLoad, type Client, type Identity, type Paged } from "./api";
import { cellOf, rowsOf } from "./csv";
import { Empty } from "./empty";
import { ErrorNotice, Table } from "./parts";
import { listHref, useFilters, usePageTitle } from "./route";
import type { Template, TemplateSummary } from "./template";
import { useWorkspace, WorkspaceField } from "./workspace";
import { numeral, rich, t } from "./texts";

interface Fault { row: number; column: string; message: string }
interface Checked { total: number; faults: Fault[]; faultCount: number }

const shown = 10; // number of rows in the preview
const saveAs = (text: string, name: string) => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

/** Returns the columns that a table for a template can have. */
function columnsOf(t: Template): string[] {
  const people = t.roles.flatMap((r) => [`${r.role}.name`, `${r.role}.email`, ...(r.authMethod === "sms_otp" && r.kind !== "copy" ? [`${r.role}.phone`] : [])]);
  return ["externalId", ...people, ...t.variables.map((v) => `variable.${v}`)];
}

/**
 * Creates a bulk send: the user selects a template and a table, fixes the reported problems, and sends the envelopes.
 */
export function NewBulkSend({ client, who }: { client: Client; who: Identity }) {
  usePageTitle(t("newBulkSend"));
  const { get, set } = useFilters();
  const id = get("template");
  const [tenantId, setTenant] = useWorkspace();
  const templates = useLoad<Paged<TemplateSummary>>(client, `/v1/templates?${query({ tenantId: who.app.tenants[0], pageSize: 100 })}`);
  const { data: loaded, problem } = useLoad<Template>(client, id ? `/v1/templates/${id}` : null);
  const template = loaded?.id === id ? loaded : null; // the previous template remains loaded until this one is received
  const [file, setFile] = useState<File | null>(null);
  const [rows, setRows] = useState<string[][]>([]);
  const [checked, setChecked] = useState<Checked | null>(null);
  const [submitError, setSubmitError] = useState("");
  const [busy, setBusy] = useState(false);
  const [name, setName] = useState("");
  const [perMinute, setPerMinute] = useState("");
  const turn = useRef(0);
  const tenant = template?.tenantId ?? tenantId;
  const once = useKey();
  const post = <T,>(dryRun: boolean, key?: string) => client.call<T>(`/v1/bulk-sends?${query({ templateId: id, tenantId: tenant, templateVersion: template?.version, name: dryRun ? "" : name, perMinute, dryRun: dryRun ? "true" : "" })}`, { body: new Blob([file!], { type: "text/csv" }), key });
  const failed = (e: unknown): void => {
    const details = e instanceof ApiError ? e.details as Partial<Checked> : {};
    if (Array.isArray(details.faults)) setChecked({ total: details.total ?? 0, faults: details.faults, faultCount: details.faultCount ?? details.faults.length });
    else setSubmitError(errorText(e));
  };
  useEffect(() => {
    const mine = ++turn.current;
    setChecked(null);
    setSubmitError("");
    if (!file || !template || !tenant) return;
    setBusy(true);
    void file.text().then((text) => { if (mine === turn.current) setRows(rowsOf(text)); });
    post<{ total: number }>(true).then((c) => { if (mine === turn.current) setChecked({ total: c.total, faults: [], faultCount: 0 }); }, (e: unknown) => { if (mine === turn.current) failed(e); })
      .finally(() => { if (mine === turn.current) setBusy(false); });
  }, [file, template?.id, tenant]);
  const send = async () => {
    if (busy) return;
    setBusy(true);
    try {
      const made = await once((key) => post<{ id: string }>(false, key));
      location.hash = `#/bulk/${made.id}`;
    } catch (e) {
      failed(e);
      setBusy(false);
    }
  };
  const faulty = new Set(checked?.faults.map((f) => f.row));
  const [head = [], ...body] = rows;
  const ready = checked !== null && checked.faultCount === 0 && checked.total > 0;
  return (
    <>
      <p class="small"><a href={listHref("bulk")}>{t("bulkSends")}</a></p>
      <Title>{t("newBulkSend")}</Title>
      <ErrorNotice text={templates.problem || problem} />
      {templates.data?.data.length === 0 ? (
        <Empty icon="file" title={t("templateFirst")} action={<a class="button small" href="#/templates">{t("templates")}</a>}>{t("templateFirstText")}</Empty>
      ) : (templates.data ?? templates.problem) && (
        <div class="stack wide rows">
          <section class="card stack">
            <h2>{t("bulkStep1")}</h2>
            <div><label for="btemplate">{t("template")}</label>
              <select id="btemplate" value={id} onChange={(e) => set({ template: e.currentTarget.value })}><option value="">{t("choose")}</option>{templates.data?.data.map((one) => <option key={one.id} value={one.id}>{one.name}</option>)}
                {template && !templates.data?.data.some((one) => one.id === id) && <option value={id}>{template.name}</option>}</select></div>
            {template && template.tenantId === null && <WorkspaceField value={tenantId} onChange={setTenant} />}
          </section>
          {template && (
            <section class="card stack">
              <h2>{t("bulkStep2")}</h2>
              <p class="quiet small">{rich("tableText", { columns: <span class="mono" dir="ltr">{columnsOf(template).join(", ")}</span>, value: <span class="mono" dir="ltr">value.</span> }, 10_000)}</p>
              <p><button type="button" class="plain small" onClick={() => saveAs(`${columnsOf(template).map(cellOf).join(",")}\r\n`, `${template.name}.csv`)}>{t("downloadEmptyCSV")}</button></p>
              <div><label for="btable">{t("table")}</label><input id="btable" type="file" accept=".csv,text/csv" onClick={(e) => { e.currentTarget.value = ""; setFile(null); /* so that the corrected file can be selected again */ }} onChange={(e) => setFile(e.currentTarget.files?.[0] ?? null)} /></div>
              {busy && !checked && <p class="quiet" role="status">{t("checkingRows")}</p>}
              <ErrorNotice text={submitError} />
            </section>
          )}
          {template && file && checked && (
            <section class="card stack">
              <h2>{t("bulkStep3")}</h2>
              {checked.faultCount > 0 ? (
                <>
                  <p class="notice bad" role="alert">{t("rowErrors", { n: checked.faultCount })}</p>
                  <Table label={t("errors")} head={[t("row"), t("column"), t("error")]}>{checked.faults.map((f, i) => <tr key={i}><td>{f.row === 0 ? t("all") : numeral(f.row)}</td><td class="mono"><bdi>{f.column}</bdi></td><td dir="auto">{f.message}</td></tr>)}</Table>
                  {checked.faultCount > checked.faults.length && <p class="quiet small">{t("firstShown", { n: checked.faults.length })}</p>}
                  <p><button type="button" class="plain small" onClick={() => saveAs(["row,column,message", ...checked.faults.map((f) => [String(f.row), f.column, f.message].map(cellOf).join(","))].join("\r\n"), "errors.csv")}>{t("downloadErrors")}</button></p>
                </>
              ) : <p class="notice good" role="status">{t("rowsValid", { n: checked.total })}</p>}
              {body.length > 0 && (
                <>
                  <Table label={t("rowPreview")} head={[t("row"), ...head]}>{body.slice(0, shown).map((r, i) => <tr key={i} class={faulty.has(i + 1) ? "faulty" : ""}><td>{i + 1}</td>{head.map((_, j) => <td key={j}><bdi>{r[j] ?? ""}</bdi></td>)}</tr>)}</Table>
                  {body.length > shown && <p class="quiet small">{t("firstRows", { shown, n: body.length })}</p>}
                </>
              )}
            </section>
          )}
          {ready && (
            <section class="card stack">
              <h2>{t("bulkStep4")}</h2>
              <div class="pair">
                <div><label for="bname">{t("nameOptional")}</label><input id="bname" maxLength={200} placeholder={t("bulkNameExample")} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
                <div><label for="bpace">{t("maximumPerMinute")}</label><input id="bpace" type="number" min={1} max={6000} value={perMinute} onInput={(e) => setPerMinute(e.currentTarget.value)} /></div>
              </div>
              <p class="row"><button type="button" aria-disabled={busy} onClick={() => void send()}>{t("sendEnvelopes", { n: checked.total })}</button><span class="quiet small">{t("canPause")}</span></p>
            </section>
          )}
        </div>
      )}
    </>
  );
}
