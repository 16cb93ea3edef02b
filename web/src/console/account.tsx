import { useState } from "preact/hooks";
import { languages } from "../ui/i18n";
import { Title } from "../ui/parts";
import { may, query, useLoad, words, type Client, type Who } from "./api";
import { Act, Problem, Table } from "./parts";
import { useFilters, usePageTitle } from "./route";

interface Contact { id: string; name: string; email: string; phone: string | null }

export function Contacts({ client, who }: { client: Client; who: Who }) {
  usePageTitle("Contacts");
  const { get, set: setFilter } = useFilters();
  const search = get("search");
  const { data, problem, reload } = useLoad<Contact[]>(client, `contacts?${query({ search })}`);
  const [form, setForm] = useState({ name: "", email: "", phone: "" });
  const [refused, setRefused] = useState("");
  const set = (k: keyof typeof form) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  const add = async (e: SubmitEvent) => {
    e.preventDefault();
    try {
      await client.call("contacts", { body: { name: form.name, email: form.email, ...(form.phone ? { phone: form.phone } : {}) } });
      setForm({ name: "", email: "", phone: "" });
      setRefused("");
      reload();
    } catch (x) {
      setRefused(words(x));
    }
  };
  return (
    <>
      <Title>Contacts</Title>
      <div class="filters"><div><label for="csearch">Search</label><input id="csearch" type="search" value={search} onInput={(e) => setFilter({ search: e.currentTarget.value })} /></div></div>
      <Problem text={problem} />
      {data && (
        <Table label="Contacts" head={["Name", "E-mail", "Phone", "Remove"]}>
          {data.map((c) => (
            <tr key={c.id}><td><bdi>{c.name}</bdi></td><td>{c.email}</td><td>{c.phone ?? "–"}</td>
              <td>{may(who, "support") ? <Act label="Remove" work={async () => { await client.call(`contacts/${c.id}`, { method: "DELETE" }); reload(); }} /> : "–"}</td></tr>
          ))}
        </Table>
      )}
      {data?.length === 0 && <p class="quiet">There are none.</p>}
      {may(who, "support") && (
        <form class="card later" onSubmit={(e) => void add(e)}>
          <h2>Add a contact</h2>
          <div class="filters">
            <div><label for="cname">Name</label><input id="cname" required value={form.name} onInput={set("name")} /></div>
            <div><label for="cmail">E-mail</label><input id="cmail" type="email" required value={form.email} onInput={set("email")} /></div>
            <div><label for="cphone">Phone (may be empty)</label><input id="cphone" type="tel" value={form.phone} onInput={set("phone")} /></div>
          </div>
          <Problem text={refused} />
          <button class="small">Add</button>
        </form>
      )}
    </>
  );
}

interface UsageSummary { plan: string; periodStart: string; periodEnd: string; envelopesUsed: number; envelopesLimit: number | null; overageAllowed: boolean }

export function Usage({ client }: { client: Client }) {
  usePageTitle("Usage");
  const { data: u, problem } = useLoad<UsageSummary>(client, "usage");
  const share = u?.envelopesLimit ? Math.min(1, u.envelopesUsed / u.envelopesLimit) : 0;
  return (
    <>
      <Title>Usage</Title>
      <Problem text={problem} />
      {u && (
        <section class="card">
          <p class="figure"><strong>{u.envelopesUsed.toLocaleString()}</strong> <span class="quiet">{u.envelopesLimit === null ? "envelopes sent, without limit" : `of ${u.envelopesLimit.toLocaleString()} envelopes sent`}</span></p>
          {u.envelopesLimit !== null && <div class={`usage ${share >= 1 ? "full" : share >= 0.8 ? "nearly" : ""}`} role="meter" aria-label="Share of the plan that is used" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)}><div style={{ width: `${share * 100}%` }} /></div>}
          {u.envelopesLimit !== null && share >= 0.8 && <p class={`notice ${share >= 1 && !u.overageAllowed ? "bad" : ""}`} role="status">{limitWords(u)}</p>}
          <dl class="facts">
            <dt>Plan</dt><dd>{u.plan}</dd>
            <dt>Period</dt><dd>{u.periodStart} to {u.periodEnd}</dd>
            <dt>Beyond the limit</dt><dd>{u.envelopesLimit === null ? "–" : u.overageAllowed ? "allowed, and counted" : "not allowed"}</dd>
          </dl>
        </section>
      )}
    </>
  );
}

/** What it means that the limit is near or reached. */
function limitWords(u: UsageSummary): string {
  const left = (u.envelopesLimit ?? 0) - u.envelopesUsed;
  if (left > 0) return `${left.toLocaleString()} ${left === 1 ? "envelope is" : "envelopes are"} left until ${u.periodEnd}.`;
  if (u.overageAllowed) return "The plan’s limit is reached. What is sent beyond it is allowed, and counted.";
  return `The plan’s limit is reached: nothing more can be sent until ${u.periodEnd} is over. Who runs the service can change the plan.`;
}

interface Settings { defaultExpiryDays: number | null; reminderIntervalHours: number | null; retentionDays: number | null; fieldOrigin: string | null; senderName: string | null; language: string | null; replyTo: string | null; notifyEmail: string | null }

const numbers = [
  ["defaultExpiryDays", "Days until an envelope expires", 1, 3650], ["reminderIntervalHours", "Hours between reminders (0: none)", 0, 8760], ["retentionDays", "Days sealed files are kept (0: always)", 0, 36500],
] as const;

const addresses = [
  ["replyTo", "Answers to mails go to"], ["notifyEmail", "Address that is told of declines, refused invitations and stuck seals"],
] as const;

export function SettingsPage({ client, who }: { client: Client; who: Who }) {
  usePageTitle("Settings");
  const { get, set: setFilter } = useFilters();
  const tenantId = get("tenant");
  const { data, problem, reload } = useLoad<{ own: Settings; effective: Settings }>(client, `settings?${query({ tenantId })}`);
  const [changed, setChanged] = useState<Partial<Settings>>({});
  const fixed = !may(who, "admin");
  const own = data && { ...data.own, ...changed };
  return (
    <>
      <Title>Settings</Title>
      <div class="filters"><div><label for="stenant">Tenant (empty: the application's own)</label><input id="stenant" value={tenantId} onChange={(e) => { setFilter({ tenant: e.currentTarget.value }); setChanged({}); }} /></div></div>
      <Problem text={problem} />
      {data && own && (
        <section class="card stack">
          {numbers.map(([key, label, min, max]) => (
            <div key={key}><label for={key}>{label}</label>
              <input id={key} type="number" min={min} max={max} disabled={fixed} placeholder={`not chosen: ${data.effective[key] ?? "–"}`} value={own[key] ?? ""} onInput={(e) => setChanged({ ...changed, [key]: e.currentTarget.value === "" ? null : Number(e.currentTarget.value) })} /></div>
          ))}
          <div><label for="senderName">Name of the sender in mails</label><input id="senderName" disabled={fixed} placeholder={`not chosen: ${data.effective.senderName ?? "–"}`} value={own.senderName ?? ""} onInput={(e) => setChanged({ ...changed, senderName: e.currentTarget.value || null })} /></div>
          <div><label for="slanguage">Language of mails and text messages</label>
            <select id="slanguage" disabled={fixed} value={own.language ?? ""} onChange={(e) => setChanged({ ...changed, language: e.currentTarget.value || null })}>
              <option value="">not chosen: {data.effective.language ?? "en"}</option>{Object.entries(languages).map(([tag, name]) => <option key={tag} value={tag}>{name}</option>)}
            </select></div>
          {addresses.map(([key, label]) => (
            <div key={key}><label for={key}>{label}</label>
              <input id={key} type="email" maxLength={254} disabled={fixed} placeholder={`not chosen: ${data.effective[key] ?? "–"}`} value={own[key] ?? ""} onInput={(e) => setChanged({ ...changed, [key]: e.currentTarget.value || null })} /></div>
          ))}
          <div><label for="fieldOrigin">Fields are placed from</label>
            <select id="fieldOrigin" disabled={fixed} value={own.fieldOrigin ?? ""} onChange={(e) => setChanged({ ...changed, fieldOrigin: e.currentTarget.value || null })}>
              <option value="">not chosen: {data.effective.fieldOrigin}</option><option value="top-left">top left</option><option value="bottom-left">bottom left</option>
            </select></div>
          {fixed ? <p class="quiet small">Only administrators change settings.</p>
            : <Act label="Save" tone="" done="Saved." work={async () => { await client.call(`settings?${query({ tenantId })}`, { method: "PUT", body: own }); setChanged({}); reload(); }} />}
        </section>
      )}
    </>
  );
}
