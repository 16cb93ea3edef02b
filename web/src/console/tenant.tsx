import type { Identity } from "./api";

/** A choice of the tenant; nothing for a client with one tenant. */
export function TenantField({ who, value, onChange, all = false }: { who: Identity; value: string; onChange: (tenant: string) => void; /** Whether it may be for all tenants: an empty value. */ all?: boolean }) {
  const { tenants } = who.app;
  if (tenants.length === 1) return null;
  return (
    <div><label for="newtenant">Tenant{all && tenants.length === 0 ? " (empty: for all)" : ""}</label>
      {tenants.length > 1
        ? <select id="newtenant" value={value} onChange={(e) => onChange(e.currentTarget.value)}>{tenants.map((t) => <option key={t}>{t}</option>)}</select>
        : <input id="newtenant" required={!all} maxLength={255} value={value} onInput={(e) => onChange(e.currentTarget.value)} />}
    </div>
  );
}
