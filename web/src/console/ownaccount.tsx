import { useContext, useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { useList, useLoad, formatTime, errorText, type Client, type SignInOptions } from "./api";
import { Code, noSecondFactor, SecondFactorInput, useSecondFactors, type Factor, type Passkey, type SecondFactors } from "./factors";
import { ErrorNotice, Table, useBusy } from "./parts";
import { addPasskey, passkeysKnown, type PasskeyAnswer } from "./passkeys";
import { AtProvider, Owner, Prove, type Proof } from "./proof";
import { goToProvider } from "./provider";
import { usePageTitle } from "./route";

interface Secret { secret: string; uri: string; qr: string }
interface Session { id: string; current: boolean; ip: string; userAgent: string; createdAt: string; seenAt: string }

/** The authenticator app: whether there is one, setting one up, and the recovery codes. */
function AuthenticatorApp({ client, email, factor, factors, keys, onChange }: { client: Client; email: string; factor: Factor; factors: SecondFactors; /** How many passkeys there are. */ keys: number; onChange: () => void }) {
  const [asking, setAsking] = useState<"enrol" | "renew" | "remove" | null>(null);
  const [secret, setSecret] = useState<Secret | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const [code, setCode] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, run] = useBusy();
  const confirm = async () => {
    try {
      setCodes((await client.call<{ recoveryCodes: string[] }>("totp/confirm", { body: { code } })).recoveryCodes);
      setSecret(null);
    } catch (x) {
      setProblem(errorText(x));
    }
  };
  if (codes) return <NewCodes codes={codes} onKept={() => { setCodes(null); onChange(); }} />;
  if (secret) {
    return (
      <form class="stack" onSubmit={(e) => { e.preventDefault(); void run(confirm); }}>
        <p>Scan this with your authenticator app, then enter the 6-digit code.</p>
        <div class="enrol">
          <img class="qr" alt="QR code of the secret, which is also written below" src={`data:image/svg+xml,${encodeURIComponent(secret.qr)}`} />
          <div class="stack">
            <p class="small"><span class="quiet">Or enter this secret in the app:</span><br /><span class="mono secret">{secret.secret.replace(/(.{4})(?=.)/g, "$1 ")}</span></p>
            <Code value={code} onInput={setCode} recovery={false} />
          </div>
        </div>
        <ErrorNotice text={problem} />
        <div class="row"><button aria-disabled={busy}>Confirm</button><button type="button" class="bare" onClick={() => { setSecret(null); setCode(""); setProblem(""); }}>Cancel</button></div>
      </form>
    );
  }
  const steps = {
    enrol: { title: "Set up authenticator app", text: "Enter your password to confirm that it's you.", label: "Continue", work: async (p: Proof) => setSecret(await client.call<Secret>("totp", { body: p })) },
    renew: { title: "Create new recovery codes", text: "Your current codes stop working.", label: "Make new codes", work: async (p: Proof) => setCodes((await client.call<{ recoveryCodes: string[] }>("totp/recovery-codes", { body: p })).recoveryCodes) },
    remove: { title: keys > 0 ? "Remove authenticator app" : "Remove second factor", text: `${keys > 0 ? "Passkeys and recovery codes stay." : "You will sign in with your password only."} You are signed out everywhere else.`, label: "Remove", work: async (p: Proof) => { await client.call("totp/remove", { body: p }); onChange(); } },
  };
  const { active } = factor;
  return (
    <>
      {active ? <p><span class="badge good">on</span> An authenticator app is asked for a code at each sign-in{keys > 0 && ", or a passkey is used"}.</p>
        : <p><span class="badge">off</span> {keys > 0 ? "An authenticator app shows sign-in codes when no passkey is available." : "Protect your account with a code from an app on your phone in addition to your password."}</p>}
      {factors.needed && <p>{factor.recoveryCodes} recovery {factor.recoveryCodes === 1 ? "code is" : "codes are"} left.</p>}
      <div class="row">
        {!active && <button type="button" class="small" onClick={() => setAsking("enrol")}>Set up authenticator app</button>}
        {factors.needed && <button type="button" class="plain small" onClick={() => setAsking("renew")}>Create new recovery codes</button>}
        {active && (keys > 0 || !factor.required) && <button type="button" class="plain small" onClick={() => setAsking("remove")}>Remove</button>}
      </div>
      {asking && <Prove {...steps[asking]} email={email} factors={factors} onClose={() => setAsking(null)} />}
    </>
  );
}

/** New recovery codes, which are shown once. */
function NewCodes({ codes, onKept }: { codes: string[]; onKept: () => void }) {
  return (
    <>
      <p class="notice good" role="status">Your second factor is on.</p>
      <p>Store these recovery codes in a safe place. Each one signs you in once if you lose your phone or passkey. They are not shown again.</p>
      <ul class="codes mono" aria-label="Recovery codes">{codes.map((c) => <li key={c}>{c}</li>)}</ul>
      <button type="button" onClick={onKept}>I stored them</button>
    </>
  );
}

/** The passkeys of the account: a list, a new one, and removing one. */
function Passkeys({ client, email, passkeys, factors, last, more, onChange }: { client: Client; email: string; passkeys: Passkey[]; factors: SecondFactors; /** A second factor is required, and one passkey is the only one. */ last: boolean; /** Others can be made here. */ more: boolean; onChange: () => void }) {
  const [asking, setAsking] = useState<Passkey | "new" | null>(null);
  const [name, setName] = useState("");
  const [codes, setCodes] = useState<string[]>([]);
  if (codes.length > 0) return <NewCodes codes={codes} onKept={() => { setCodes([]); onChange(); }} />;
  const add = async (p: Proof) => {
    const made = await addPasskey((path, o) => client.call(path, o), name, p);
    setName("");
    if (made.recoveryCodes.length > 0) setCodes(made.recoveryCodes);
    else onChange();
  };
  const remove = (one: Passkey) => async (p: Proof) => { await client.call(`passkeys/${one.id}/remove`, { body: p }); onChange(); };
  return (
    <>
      <p>Sign in with your password and your fingerprint, face or PIN.</p>
      {passkeys.length > 0 && (
        <ul class="passkeys" aria-label="Passkeys">
          {passkeys.map((p) => (
            <li key={p.id}>
              <span><bdi>{p.name}</bdi><br /><span class="quiet small">since {formatTime(p.createdAt)}, {p.usedAt ? `last used ${formatTime(p.usedAt)}` : "never used"}</span></span>
              {!last && <button type="button" class="plain small" aria-label={`Remove ${p.name}`} onClick={() => setAsking(p)}>Remove</button>}
            </li>
          ))}
        </ul>
      )}
      {more ? <p><button type="button" class="small" onClick={() => setAsking("new")}>Add a passkey</button></p> : <p class="quiet small">This browser or address does not support passkeys.</p>}
      {asking === "new" && (
        <Prove email={email} title="Add a passkey" text="Enter your password to confirm that it's you." label="Continue" factors={factors} work={add} onClose={() => setAsking(null)}>
          <div><label for="passkeyname">Name</label><input id="passkeyname" required maxLength={100} autocomplete="off" placeholder="My laptop" value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
        </Prove>
      )}
      {asking && asking !== "new" && <Prove email={email} title={`Remove ${asking.name}?`} text="It can no longer be used. You are signed out everywhere else." label="Remove" factors={factors} work={remove(asking)} onClose={() => setAsking(null)} />}
    </>
  );
}

/** All that there is before a required second factor is set up. */
export function MustEnrol({ client, email, onDone }: { client: Client; email: string; onDone: () => void }) {
  const options = useLoad<SignInOptions>(client, "sign-in");
  const passkeys = (options.data?.passkeys ?? false) && passkeysKnown();
  return (
    <main class="narrow">
      <section class="card stack">
        <Title>A second factor is required</Title>
        <p>{passkeys ? "Your organization requires one in addition to the password: an authenticator app (TOTP) or a passkey." : "Your organization requires an authenticator app (TOTP) in addition to the password."}</p>
        <AuthenticatorApp client={client} email={email} factor={{ active: false, required: true, recoveryCodes: 0 }} factors={noSecondFactor} keys={0} onChange={onDone} />
        {passkeys && <><h2>Or a passkey</h2><Passkeys client={client} email={email} passkeys={[]} factors={noSecondFactor} last={false} more onChange={onDone} /></>}
        <p><button type="button" class="bare small" onClick={() => client.logout()}>Sign out</button></p>
      </section>
    </main>
  );
}

function Password({ client, email, factors, onChange }: { client: Client; email: string; factors: SecondFactors; onChange: () => void }) {
  const empty = { password: "", newPassword: "", code: "" };
  const [form, setForm] = useState(empty);
  const [told, setTold] = useState({ bad: false, text: "" });
  const set = (k: keyof typeof form) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  const [busy, run] = useBusy();
  const byPasskey = factors.passkey;
  const change = async (passkey?: () => Promise<PasskeyAnswer>) => {
    const { code, ...rest } = form;
    try {
      await client.call("password", { body: passkey ? { ...rest, passkey: await passkey() } : factors.needed ? { ...rest, code } : rest });
      setForm(empty);
      setTold({ bad: false, text: "Password changed. You are signed out everywhere else." });
      onChange();
    } catch (x) {
      setTold({ bad: true, text: errorText(x) });
    }
  };
  return (
    <form class="stack" onSubmit={(e) => { e.preventDefault(); void run(() => change()); }}>
      <Owner email={email} />
      <div><label for="now">Current password</label><input id="now" type="password" autocomplete="current-password" required value={form.password} onInput={set("password")} /></div>
      <div><label for="fresh">New password</label><input id="fresh" type="password" autocomplete="new-password" required minLength={10} maxLength={128} aria-describedby="freshhint" value={form.newPassword} onInput={set("newPassword")} />
        <p id="freshhint" class="quiet small">10 characters or more, of any kind.</p></div>
      {factors.needed && <SecondFactorInput app={factors.app} onPasskey={byPasskey && (() => void run(() => change(byPasskey)))} code={form.code} onCode={(code) => setForm({ ...form, code })} />}
      {told.text && <p class={`notice ${told.bad ? "bad" : "good"}`} role={told.bad ? "alert" : "status"}>{told.text}</p>}
      <button class={byPasskey ? "plain small" : "small"} aria-disabled={busy}>Change password</button>
    </form>
  );
}

/** Connects an account with a password to the provider for signing in. */
function Connect({ client, email, factors, name }: { client: Client; email: string; factors: SecondFactors; name: string }) {
  const [asking, setAsking] = useState(false);
  const work = async (p: Proof) => goToProvider((await client.call<{ url: string }>("provider/connect", { body: p })).url);
  return (
    <section class="card stack later">
      <h2>{`Sign in with ${name}`}</h2>
      <p>After you connect, you sign in there instead of with your password, and the provider sets your role.</p>
      <p><button type="button" class="plain small" onClick={() => setAsking(true)}>Connect</button></p>
      {asking && <Prove email={email} title={`Connect with ${name}`} text="Enter your password, then sign in at the provider with the account to connect. You are signed out everywhere." label="Continue" factors={factors} work={work} onClose={() => setAsking(false)} />}
    </section>
  );
}

export function Account({ client, email }: { client: Client; email: string }) {
  usePageTitle("Your account");
  const { totp, passkeys, factors } = useSecondFactors(client);
  const sessions = useList<Session>(client, "sessions");
  const provider = useContext(AtProvider);
  const options = useLoad<SignInOptions>(client, provider ? null : "sign-in");
  const [ending, setEnding] = useState<Session | "others" | null>(null);
  const end = async (p: Proof) => {
    await client.call("sessions/end", { body: { ...p, ...(ending === "others" || !ending ? {} : { sessionId: ending.id }) } });
    sessions.reload();
  };
  const keys = passkeys.data?.length ?? 0;
  const more = (options.data?.passkeys ?? false) && passkeysKnown();
  const changed = () => { totp.reload(); passkeys.reload(); sessions.reload(); };
  return (
    <>
      <Title>Your account</Title>
      <ErrorNotice text={totp.problem || passkeys.problem || sessions.problem} />
      {provider ? <section class="card"><h2>Sign-in</h2><p>Through your organization's provider. Change your password and second factor there.</p></section> : (<div class="columns">
        <section class="card"><h2>Authenticator app</h2>{totp.data && <AuthenticatorApp client={client} email={email} factor={totp.data} factors={factors} keys={keys} onChange={changed} />}
          {passkeys.data && (keys > 0 || more) && <><h2 class="later">Passkeys</h2><Passkeys client={client} email={email} passkeys={passkeys.data} factors={factors} last={keys === 1 && !factors.app && (totp.data?.required ?? false)} more={more} onChange={changed} /></>}</section>
        <section class="card stack"><h2>Password</h2><Password client={client} email={email} factors={factors} onChange={sessions.reload} /></section>
      </div>)}
      {options.data?.provider && <Connect client={client} email={email} factors={factors} name={options.data.provider.name} />}
      <h2 class="later">Sessions</h2>
      {sessions.data && (
        <Table label="Sessions" head={["Device", "Address", "Since", "Last used", "End"]}>
          {sessions.data.map((s) => (
            <tr key={s.id}><td>{s.userAgent || "unknown"}</td><td>{s.ip}</td><td>{formatTime(s.createdAt)}</td><td>{formatTime(s.seenAt)}</td>
              <td>{s.current ? <span class="badge good">this one</span> : <button type="button" class="plain small" onClick={() => setEnding(s)}>Sign out</button>}</td></tr>
          ))}
        </Table>
      )}
      {(sessions.data?.length ?? 0) > 1 && <p><button type="button" class="plain small" onClick={() => setEnding("others")}>Sign out everywhere else</button></p>}
      {ending && <Prove email={email} title={ending === "others" ? "Sign out everywhere else?" : "Sign out there?"} text="The session there ends immediately." label="Sign out" factors={factors} work={end} onClose={() => setEnding(null)} />}
    </>
  );
}
