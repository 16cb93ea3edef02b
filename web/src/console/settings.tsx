import { useState } from "preact/hooks";
import { languages, type Language } from "../ui/i18n";
import { Title } from "../ui/parts";
import { hasRole, query, useLoad, type Client, type Identity } from "./api";
import { ActionButton, ErrorNotice } from "./parts";
import { useFilters, usePageTitle } from "./route";
import { t } from "./texts";

interface Settings { defaultExpiryDays: number | null; reminderIntervalHours: number | null; retentionDays: number | null; fieldOrigin: string | null; senderName: string | null; language: string | null; replyTo: string | null; notifyEmail: string | null }

const numbers = [
  ["defaultExpiryDays", "daysUntilExpiry", 1, 3650], ["reminderIntervalHours", "hoursBetweenReminders", 0, 8760], ["retentionDays", "daysKept", 0, 36500],
] as const;

const addresses = [
  ["replyTo", "replyTo"], ["notifyEmail", "alertsTo"],
] as const;

export function SettingsPage({ client, who }: { client: Client; who: Identity }) {
  usePageTitle(t("settings"));
  const { get, set: setFilter } = useFilters();
  const tenantId = get("tenant");
  const { data: loaded, problem, reload } = useLoad<{ tenantId: string; own: Settings; effective: Settings }>(client, `settings?${query({ tenantId })}`);
  // The previous tenant's settings remain loaded until the new ones are received.
  const data = loaded?.tenantId === tenantId ? loaded : null;
  const [changed, setChanged] = useState<Partial<Settings>>({});
  const save = async () => {
    await client.call(`settings?${query({ tenantId })}`, { method: "PUT", body: changed });
    // Changes made during the request have not been saved yet.
    setChanged((now) => Object.fromEntries(Object.entries(now).filter(([key, value]) => value !== changed[key as keyof Settings])));
    reload();
  };
  const fixed = !hasRole(who, "admin");
  const own = data && { ...data.own, ...changed };
  return (
    <>
      <Title>{t("settings")}</Title>
      <div class="filters"><div><label for="stenant">{t("workspaceOrApplication")}</label><input id="stenant" value={tenantId} onChange={(e) => { setFilter({ tenant: e.currentTarget.value }); setChanged({}); }} /></div></div>
      <ErrorNotice text={problem} />
      {data && own && (
        <section class="card stack">
          {numbers.map(([key, label, min, max]) => (
            <div key={key}><label for={key}>{t(label)}</label>
              <input id={key} type="number" min={min} max={max} disabled={fixed} placeholder={t("defaultIs", { value: data.effective[key] ?? "–" })} value={own[key] ?? ""} onInput={(e) => setChanged({ ...changed, [key]: e.currentTarget.value === "" ? null : Number(e.currentTarget.value) })} /></div>
          ))}
          <div><label for="senderName">{t("senderName")}</label><input id="senderName" disabled={fixed} placeholder={t("defaultIs", { value: data.effective.senderName ?? "–" })} value={own.senderName ?? ""} onInput={(e) => setChanged({ ...changed, senderName: e.currentTarget.value || null })} /></div>
          <div><label for="slanguage">{t("messageLanguage")}</label>
            <select id="slanguage" disabled={fixed} value={own.language ?? ""} onChange={(e) => setChanged({ ...changed, language: e.currentTarget.value || null })}>
              <option value="">{t("defaultIs", { value: languages[data.effective.language as Language ?? "en"] ?? data.effective.language ?? "" })}</option>{Object.entries(languages).map(([tag, name]) => <option key={tag} value={tag}>{name}</option>)}
            </select></div>
          {addresses.map(([key, label]) => (
            <div key={key}><label for={key}>{t(label)}</label>
              <input id={key} type="email" maxLength={254} disabled={fixed} placeholder={t("defaultIs", { value: data.effective[key] ?? "–" })} value={own[key] ?? ""} onInput={(e) => setChanged({ ...changed, [key]: e.currentTarget.value || null })} /></div>
          ))}
          <div><label for="fieldOrigin">{t("coordinatesStart")}</label>
            <select id="fieldOrigin" disabled={fixed} value={own.fieldOrigin ?? ""} onChange={(e) => setChanged({ ...changed, fieldOrigin: e.currentTarget.value || null })}>
              <option value="">{t("defaultIs", { value: t(data.effective.fieldOrigin === "bottom-left" ? "bottomLeft" : "topLeft") })}</option><option value="top-left">{t("topLeft")}</option><option value="bottom-left">{t("bottomLeft")}</option>
            </select></div>
          {fixed ? <p class="quiet small">{t("settingsForAdmins")}</p>
            : <ActionButton label={t("save")} tone="" done={t("saved")} work={save} />}
        </section>
      )}
    </>
  );
}
