import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { errorText, hasRole, query, useLoad, type Client, type Identity } from "./api";
import { Empty } from "./empty";
import { ActionButton, ErrorNotice, Table, useBusy } from "./parts";
import { useFilters, usePageTitle } from "./route";
import { t } from "./texts";

interface Contact { id: string; name: string; email: string; phone: string | null }

export function Contacts({ client, who }: { client: Client; who: Identity }) {
  usePageTitle(t("contacts"));
  const { get, set: setFilter } = useFilters();
  const search = get("search");
  const { data, problem, reload } = useLoad<Contact[]>(client, `contacts?${query({ search })}`);
  const [form, setForm] = useState({ name: "", email: "", phone: "" });
  const [refused, setRefused] = useState("");
  const set = (k: keyof typeof form) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  const [busy, run] = useBusy();
  const add = async () => {
    try {
      await client.call("contacts", { body: { name: form.name, email: form.email, ...(form.phone ? { phone: form.phone } : {}) } });
      // Text entered during the request remains.
      setForm((now) => (now === form ? { name: "", email: "", phone: "" } : now));
      setRefused("");
      reload();
    } catch (x) {
      setRefused(errorText(x));
    }
  };
  return (
    <>
      <Title>{t("contacts")}</Title>
      <div class="filters"><div><label for="csearch">{t("search")}</label><input id="csearch" type="search" value={search} onInput={(e) => setFilter({ search: e.currentTarget.value })} /></div></div>
      <ErrorNotice text={problem} />
      {data && data.length > 0 && (
        <Table label={t("contacts")} head={[t("name"), t("email"), t("phone"), t("remove")]}>
          {data.map((c) => (
            <tr key={c.id}><td><bdi>{c.name}</bdi></td><td>{c.email}</td><td>{c.phone ?? "–"}</td>
              <td>{hasRole(who, "support") ? <ActionButton label={t("remove")} name={t("removeName", { name: c.name })} work={async () => { await client.call(`contacts/${c.id}`, { method: "DELETE" }); reload(); }} /> : "–"}</td></tr>
          ))}
        </Table>
      )}
      {data?.length === 0 && search && <p class="quiet">{t("noMatches")}</p>}
      {data?.length === 0 && !search && <Empty icon="pen" title={t("noContacts")}>{t("contactsText")}</Empty>}
      {(data ?? problem) && hasRole(who, "support") && (
        <form class="card later" onSubmit={(e) => { e.preventDefault(); void run(add); }}>
          <h2>{t("addContact")}</h2>
          <div class="filters">
            <div><label for="cname">{t("name")}</label><input id="cname" required value={form.name} onInput={set("name")} /></div>
            <div><label for="cmail">{t("email")}</label><input id="cmail" type="email" required value={form.email} onInput={set("email")} /></div>
            <div><label for="cphone">{t("phoneOptional")}</label><input id="cphone" type="tel" value={form.phone} onInput={set("phone")} /></div>
          </div>
          <ErrorNotice text={refused} />
          <button class="small" aria-disabled={busy}>{t("add")}</button>
        </form>
      )}
    </>
  );
}
