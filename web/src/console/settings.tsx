import { useState } from "preact/hooks";
import { languages } from "../ui/i18n";
import { Title } from "../ui/parts";
import { hasRole, query, useLoad, type Client, type Identity } from "./api";
import { ActionButton, ErrorNotice } from "./parts";
import { useFilters, usePageTitle } from "./route";

interface Settings { defaultExpiryDays: number | null; reminderIntervalHours: number | null; retentionDays: number | null; fieldOrigin: string | null; senderName: string | null; language: string | null; replyTo: string | null; notifyEmail: string | null }

const numbers = [
  ["defaultExpiryDays", "Days until an envelope expires", 1, 3650], ["reminderIntervalHours", "Hours between reminders (0: none)", 0, 8760], ["retentionDays", "Days sealed files are kept (0: always)", 0, 36500],
] as const;

const addresses = [
  ["replyTo", "Reply-to address"], ["notifyEmail", "Send alerts to (declined, bounced, sealing problems)"],
] as const;

export function SettingsPage({ client, who }: { client: Client; who: Identity }) {
  usePageTitle("Settings");
  const { get, set: setFilter } = useFilters();
  const tenantId = get("tenant");
  const { data: loaded, problem, reload } = useLoad<{ tenantId: string; own: Settings; effective: Settings }>(client, `settings?${query({ tenantId })}`);
  const data = loaded?.tenantId === tenantId ? loaded : null; // another tenant's settings stay loaded until these arrive
  const [changed, setChanged] = useState<Partial<Settings>>({});
  const save = async () => {
    await client.call(`settings?${query({ tenantId })}`, { method: "PUT", body: changed });
    // Changes made during the request are still to be saved.
    setChanged((now) => Object.fromEntries(Object.entries(now).filter(([key, value]) => value !== changed[key as keyof Settings])));
    reload();
  };
  const fixed = !hasRole(who, "admin");
  const own = data && { ...data.own, ...changed };
  return (
    <>
      <Title>Settings</Title>
      <div class="filters"><div><label for="stenant">Workspace (empty: the application's own settings)</label><input id="stenant" value={tenantId} onChange={(e) => { setFilter({ tenant: e.currentTarget.value }); setChanged({}); }} /></div></div>
      <ErrorNotice text={problem} />
      {data && own && (
        <section class="card stack">
          {numbers.map(([key, label, min, max]) => (
            <div key={key}><label for={key}>{label}</label>
              <input id={key} type="number" min={min} max={max} disabled={fixed} placeholder={`Default: ${data.effective[key] ?? "–"}`} value={own[key] ?? ""} onInput={(e) => setChanged({ ...changed, [key]: e.currentTarget.value === "" ? null : Number(e.currentTarget.value) })} /></div>
          ))}
          <div><label for="senderName">Sender name in emails</label><input id="senderName" disabled={fixed} placeholder={`Default: ${data.effective.senderName ?? "–"}`} value={own.senderName ?? ""} onInput={(e) => setChanged({ ...changed, senderName: e.currentTarget.value || null })} /></div>
          <div><label for="slanguage">Language of emails and text messages</label>
            <select id="slanguage" disabled={fixed} value={own.language ?? ""} onChange={(e) => setChanged({ ...changed, language: e.currentTarget.value || null })}>
              <option value="">Default: {data.effective.language ?? "en"}</option>{Object.entries(languages).map(([tag, name]) => <option key={tag} value={tag}>{name}</option>)}
            </select></div>
          {addresses.map(([key, label]) => (
            <div key={key}><label for={key}>{label}</label>
              <input id={key} type="email" maxLength={254} disabled={fixed} placeholder={`Default: ${data.effective[key] ?? "–"}`} value={own[key] ?? ""} onInput={(e) => setChanged({ ...changed, [key]: e.currentTarget.value || null })} /></div>
          ))}
          <div><label for="fieldOrigin">Field coordinates start at</label>
            <select id="fieldOrigin" disabled={fixed} value={own.fieldOrigin ?? ""} onChange={(e) => setChanged({ ...changed, fieldOrigin: e.currentTarget.value || null })}>
              <option value="">Default: {data.effective.fieldOrigin}</option><option value="top-left">top left</option><option value="bottom-left">bottom left</option>
            </select></div>
          {fixed ? <p class="quiet small">Only administrators can change settings.</p>
            : <ActionButton label="Save" tone="" done="Saved." work={save} />}
        </section>
      )}
    </>
  );
}
