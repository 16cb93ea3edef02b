import { useEffect, useState } from "preact/hooks";
import { query, type Client, type Envelope, type Identity, type Paged } from "./api";
import { t } from "./texts";

const kept = (who: Identity): string => `countersign:workspace:${who.app.id}:${who.user?.id ?? ""}`;

/** Returns the workspace that was used last, if the client may still act for it. */
function remembered(who: Identity): string {
  const { tenants } = who.app;
  const last = localStorage.getItem(kept(who)) ?? "";
  return tenants.length === 0 || tenants.includes(last) ? last : "";
}

/**
 * The workspace, which the API calls the tenant, in which something is created: the one that was used last in this browser, or
 * else that of the newest envelope. The second function remembers the choice.
 */
export function useWorkspace(client: Client, who: Identity, given?: string): [string, (tenant: string) => void] {
  const { tenants } = who.app;
  const [tenant, setTenant] = useState(given ?? (remembered(who) || tenants[0] || ""));
  useEffect(() => {
    if (tenant) return;
    let stale = false;
    void client.call<Paged<Envelope>>(`envelopes?${query({ pageSize: 1 })}`).then((newest) => { if (!stale) setTenant((now) => now || (newest.data[0]?.tenantId ?? "main")); }, () => undefined);
    return () => { stale = true; };
  }, []);
  return [tenant, (chosen) => {
    setTenant(chosen);
    if (chosen) localStorage.setItem(kept(who), chosen);
  }];
}

/** A choice of the workspace; nothing for a client with one. */
export function TenantField({ who, value, onChange, all = false }: { who: Identity; value: string; onChange: (tenant: string) => void; /** Whether it may be for all workspaces: an empty value. */ all?: boolean }) {
  const { tenants } = who.app;
  if (tenants.length === 1) return null;
  return (
    <div><label for="newtenant">{t(all && tenants.length === 0 ? "workspaceOrAll" : "workspace")}</label>
      {tenants.length > 1
        ? <select id="newtenant" value={value} onChange={(e) => onChange(e.currentTarget.value)}>{tenants.map((name) => <option key={name}>{name}</option>)}</select>
        : <input id="newtenant" required={!all} maxLength={255} aria-describedby="newtenanthint" value={value} onInput={(e) => onChange(e.currentTarget.value)} />}
      {tenants.length === 0 && <p id="newtenanthint" class="quiet small">{t("workspaceHint")}</p>}
    </div>
  );
}
