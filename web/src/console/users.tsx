import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { useList, formatTime, type Client, type Role, type User, type Identity } from "./api";
import { FormDialog, Badge, ErrorNotice, Table } from "./parts";
import { usePageTitle } from "./route";

const roles: Record<Role, string> = { viewer: "viewer: looks", support: "support: also resends, corrects and voids", sender: "sender: also creates, edits and sends", admin: "admin: also users, endpoints, secrets, settings" };

type Asked = "role" | "password" | "factor" | "sessions" | "disable";

export function Users({ client, who }: { client: Client; who: Identity }) {
  usePageTitle("Users");
  const { data, problem, reload } = useList<User>(client, "users");
  const [asking, setAsking] = useState<{ what: Asked; user: User } | null>(null);
  const [told, setTold] = useState("");
  const done = (words: string) => { setTold(words); reload(); };
  return (
    <>
      <Title>Users</Title>
      <ErrorNotice text={problem} />
      {told && <p class="notice good" role="status">{told}</p>}
      {data && (
        <Table label="Users" head={["Name", "Role", "Second factor", "Last active", "Since", "Change"]}>
          {data.map((u) => (
            <tr key={u.id}>
              <td><strong><bdi>{u.name}</bdi></strong><br /><span class="quiet small"><bdi>{u.email}</bdi></span></td>
              <td><Badge>{u.role}</Badge></td>
              <td>{u.signIn === "provider" ? <span class="quiet">at the provider</span> : u.secondFactor ? <span class="badge good">on</span> : <span class="badge">off</span>}</td>
              <td>{u.seenAt ? formatTime(u.seenAt) : "not signed in"}</td>
              <td>{formatTime(u.createdAt)}</td>
              <td>{u.id === who.user?.id ? <a href="#/account">your account</a> : (
                <select aria-label={`Change ${u.name}`} value="" onChange={(e) => { setAsking({ what: e.currentTarget.value as Asked, user: u }); e.currentTarget.value = ""; }}>
                  <option value="">Choose …</option>
                  <option value="role">Name and role</option>
                  <option value="password">New password</option>
                  {u.secondFactor && <option value="factor">Remove second factors</option>}
                  <option value="sessions">Sign out everywhere</option>
                  <option value="disable">Disable</option>
                </select>
              )}</td>
            </tr>
          ))}
        </Table>
      )}
      {asking && <Change key={asking.user.id + asking.what} client={client} {...asking} onClose={() => setAsking(null)} onDone={done} />}
      <NewUser client={client} onDone={done} />
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
        <FormDialog title={`Change ${user.name}`} label="Save" onClose={onClose} work={call("", "PATCH", user.signIn === "provider" ? { name } : { name, role }, `${name} is ${role} now.`)}>
          <div><label for="uname">Name</label><input id="uname" required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
          {user.signIn === "provider" ? <p class="quiet small">The provider says the role, at each sign-in: {role}.</p> : <><RoleChoice id="urole" value={role} onChoose={setRole} /><p class="quiet small">It takes effect immediately.</p></>}
        </FormDialog>
      );
    case "password":
      return (
        <FormDialog title={`A new password for ${user.name}`} label="Set it" onClose={onClose} work={call("/password", "POST", { newPassword: password }, `${user.name} has a new password and is signed out.`)}>
          <p>Verify who is asking. Share the password by a way other than email, and have it changed after sign-in. {user.signIn === "provider" ? `From then on ${user.name} signs in with it, and no longer at the provider.` : "The second factor stays."}</p>
          <div><label for="upass">New password</label><input id="upass" type="text" autocomplete="off" spellcheck={false} required minLength={10} maxLength={128} value={password} onInput={(e) => setPassword(e.currentTarget.value)} /></div>
        </FormDialog>
      );
    case "factor":
      return (
        <FormDialog title="Remove second factors?" label="Remove" tone="bad" onClose={onClose} work={call("/totp", "DELETE", undefined, `${user.name} has no second factor any more and is signed out.`)}>
          <p>For somebody who has lost the phone, the passkeys and the recovery codes. Make sure that it is {user.name} who asks: the password alone will do from now on.</p>
        </FormDialog>
      );
    case "sessions":
      return (
        <FormDialog title={`Sign ${user.name} out everywhere?`} label="Sign out" onClose={onClose} work={call("/sessions", "DELETE", undefined, `${user.name} is signed out everywhere.`)}>
          <p>All sessions on all devices end immediately.</p>
        </FormDialog>
      );
    case "disable":
      return (
        <FormDialog title={`Disable ${user.name}?`} label="Disable" tone="bad" onClose={onClose} work={call("", "DELETE", undefined, `${user.name} cannot sign in any more.`)}>
          <p>Sessions end immediately, and the account can't be enabled again. You can create a new account with the same address.</p>
        </FormDialog>
      );
  }
}

function RoleChoice({ id, value, onChoose }: { id: string; value: Role; onChoose: (r: Role) => void }) {
  return (
    <div><label for={id}>Role</label>
      <select id={id} value={value} onChange={(e) => onChoose(e.currentTarget.value as Role)}>{Object.entries(roles).map(([r, words]) => <option key={r} value={r}>{words}</option>)}</select>
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
    onDone(`${form.name} can sign in.`);
    setForm(empty);
  };
  return (
    <>
      <p><button type="button" class="small" onClick={() => setOpen(true)}>Add a user</button></p>
      {open && (
        <FormDialog title="Add a user" label="Add" onClose={() => setOpen(false)} work={work}>
          <div><label for="nname">Name</label><input id="nname" required maxLength={255} autocomplete="off" value={form.name} onInput={set("name")} /></div>
          <div><label for="nmail">Email</label><input id="nmail" type="email" required maxLength={254} autocomplete="off" value={form.email} onInput={set("email")} /></div>
          <div><label for="npass">First password</label><input id="npass" type="text" autocomplete="off" spellcheck={false} required minLength={10} maxLength={128} value={form.password} onInput={set("password")} /></div>
          <RoleChoice id="nrole" value={form.role} onChoose={(role) => setForm({ ...form, role })} />
        </FormDialog>
      )}
    </>
  );
}
