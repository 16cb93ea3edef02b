import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { useList, formatTime, type Client, type Role, type User, type Identity } from "./api";
import { FormDialog, Badge, ErrorNotice, nameOf, Table } from "./parts";
import { usePageTitle } from "./route";
import { t, type TextKey } from "./texts";

const roles: Record<Role, TextKey> = { viewer: "canView", support: "canSupport", sender: "canSend", admin: "canAdminister" };

type Asked = "role" | "password" | "factor" | "sessions" | "disable";

export function Users({ client, who }: { client: Client; who: Identity }) {
  usePageTitle(t("users"));
  const { data, problem, reload } = useList<User>(client, "users");
  const [asking, setAsking] = useState<{ what: Asked; user: User } | null>(null);
  const [notice, setNotice] = useState("");
  const done = (words: string) => { setNotice(words); reload(); };
  return (
    <>
      <Title>{t("users")}</Title>
      <ErrorNotice text={problem} />
      {notice && <p class="notice good" role="status">{notice}</p>}
      {data && (
        <Table label={t("users")} head={[t("name"), t("role"), t("secondFactor"), t("lastActive"), t("since"), t("change")]}>
          {data.map((u) => (
            <tr key={u.id}>
              <td><strong><bdi>{u.name}</bdi></strong><br /><span class="quiet small"><bdi>{u.email}</bdi></span></td>
              <td><Badge>{u.role}</Badge></td>
              <td>{u.signIn === "provider" ? <span class="quiet">{t("atProvider")}</span> : u.secondFactor ? <span class="badge good">{t("on")}</span> : <span class="badge">{t("off")}</span>}</td>
              <td>{u.seenAt ? formatTime(u.seenAt) : t("neverSignedIn")}</td>
              <td>{formatTime(u.createdAt)}</td>
              <td>{u.id === who.user?.id ? <a href="#/account">{t("ownRow")}</a> : (
                <select aria-label={t("changeUser", { name: u.name })} value="" onChange={(e) => { setAsking({ what: e.currentTarget.value as Asked, user: u }); e.currentTarget.value = ""; }}>
                  <option value="">{t("choose")}</option>
                  <option value="role">{t("nameAndRole")}</option>
                  <option value="password">{t("newPassword")}</option>
                  {u.secondFactor && <option value="factor">{t("removeFactors")}</option>}
                  <option value="sessions">{t("signOutEverywhere")}</option>
                  <option value="disable">{t("disable")}</option>
                </select>
              )}</td>
            </tr>
          ))}
        </Table>
      )}
      {asking && <Change key={asking.user.id + asking.what} client={client} {...asking} onClose={() => setAsking(null)} onDone={done} />}
      {(data ?? problem) && <NewUser client={client} onDone={done} />}
    </>
  );
}

function Change({ client, what, user, onClose, onDone }: { client: Client; what: Asked; user: User; onClose: () => void; onDone: (words: string) => void }) {
  const [role, setRole] = useState(user.role);
  const [name, setName] = useState(user.name);
  const [password, setPassword] = useState("");
  const call = (path: string, method: string, body: unknown, words: string) => async () => {
    await client.call(`users/${user.id}${path}`, { method, body });
    onDone(words);
  };
  switch (what) {
    case "role":
      return (
        <FormDialog title={t("changeUser", { name: user.name })} label={t("save")} onClose={onClose} work={call("", "PATCH", user.signIn === "provider" ? { name } : { name, role }, t("userIsNow", { name, role: nameOf(role) }))}>
          <div><label for="uname">{t("name")}</label><input id="uname" required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
          {user.signIn === "provider" ? <p class="quiet small">{t("roleFromProvider", { role: nameOf(role) })}</p> : <><RoleChoice id="urole" value={role} onChoose={setRole} /><p class="quiet small">{t("takesEffectNow")}</p></>}
        </FormDialog>
      );
    case "password":
      return (
        <FormDialog title={t("newPasswordFor", { name: user.name })} label={t("setPassword")} onClose={onClose} work={call("/password", "POST", { newPassword: password }, t("hasNewPassword", { name: user.name }))}>
          <p>{t("newPasswordText")} {user.signIn === "provider" ? t("passwordInsteadOfProvider", { name: user.name }) : t("factorStays")}</p>
          <div><label for="upass">{t("newPassword")}</label><input id="upass" type="text" autocomplete="off" spellcheck={false} required minLength={10} maxLength={128} value={password} onInput={(e) => setPassword(e.currentTarget.value)} /></div>
        </FormDialog>
      );
    case "factor":
      return (
        <FormDialog title={t("removeFactorsQuestion")} label={t("remove")} tone="bad" onClose={onClose} work={call("/totp", "DELETE", undefined, t("hasNoFactor", { name: user.name }))}>
          <p>{t("removeFactorsText", { name: user.name })}</p>
        </FormDialog>
      );
    case "sessions":
      return (
        <FormDialog title={t("signOutUserQuestion", { name: user.name })} label={t("signOut")} onClose={onClose} work={call("/sessions", "DELETE", undefined, t("userSignedOut", { name: user.name }))}>
          <p>{t("sessionsEnd")}</p>
        </FormDialog>
      );
    case "disable":
      return (
        <FormDialog title={t("disableUserQuestion", { name: user.name })} label={t("disable")} tone="bad" onClose={onClose} work={call("", "DELETE", undefined, t("userDisabled", { name: user.name }))}>
          <p>{t("disableText")}</p>
        </FormDialog>
      );
  }
}

function RoleChoice({ id, value, onChoose }: { id: string; value: Role; onChoose: (r: Role) => void }) {
  return (
    <div><label for={id}>{t("role")}</label>
      <select id={id} value={value} onChange={(e) => onChoose(e.currentTarget.value as Role)}>{Object.entries(roles).map(([r, words]) => <option key={r} value={r}>{t(words)}</option>)}</select>
    </div>
  );
}

function NewUser({ client, onDone }: { client: Client; onDone: (words: string) => void }) {
  const empty = { name: "", email: "", password: "", role: "viewer" as Role };
  const [open, setOpen] = useState(false);
  const [form, setForm] = useState(empty);
  const set = (k: keyof typeof form) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  const work = async () => {
    await client.call("users", { body: form });
    onDone(t("userAdded", { name: form.name }));
    setForm(empty);
  };
  return (
    <>
      <p><button type="button" class="small" onClick={() => setOpen(true)}>{t("addUser")}</button></p>
      {open && (
        <FormDialog title={t("addUser")} label={t("add")} onClose={() => setOpen(false)} work={work}>
          <div><label for="nname">{t("name")}</label><input id="nname" required maxLength={255} autocomplete="off" value={form.name} onInput={set("name")} /></div>
          <div><label for="nmail">{t("email")}</label><input id="nmail" type="email" required maxLength={254} autocomplete="off" value={form.email} onInput={set("email")} /></div>
          <div><label for="npass">{t("firstPassword")}</label><input id="npass" type="text" autocomplete="off" spellcheck={false} required minLength={10} maxLength={128} value={form.password} onInput={set("password")} /></div>
          <RoleChoice id="nrole" value={form.role} onChoose={(role) => setForm({ ...form, role })} />
        </FormDialog>
      )}
    </>
  );
}
