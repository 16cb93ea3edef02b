import { useContext, useState } from "preact/hooks";
import { Loading, Title } from "../ui/parts";
import { useList, useLoad, formatTime, errorText, type Client, type SignInOptions } from "./api";
import { Code, noSecondFactor, SecondFactorInput, useSecondFactors, type Factor, type Passkey, type SecondFactors } from "./factors";
import { Notifications, type NotificationSettings } from "./notifications";
import { ErrorNotice, Table, useBusy } from "./parts";
import { addPasskey, passkeysKnown, type PasskeyAnswer } from "./passkeys";
import { AtProvider, Owner, Prove, type Proof } from "./proof";
import { goToProvider } from "./provider";
import { usePageTitle } from "./route";
import { t } from "./texts";

interface Secret { secret: string; uri: string; qr: string }
interface Session { id: string; current: boolean; ip: string; userAgent: string; createdAt: string; seenAt: string }

/** The authenticator app, if any, its setup, and the recovery codes. */
function AuthenticatorApp({ client, email, factor, factors, keys, onChange }: { client: Client; email: string; factor: Factor; factors: SecondFactors; /** The number of passkeys. */ keys: number; onChange: () => void }) {
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
        <p>{t("scanQR")}</p>
        <div class="enrol">
          <img class="qr" alt={t("qrCode")} src={`data:image/svg+xml,${encodeURIComponent(secret.qr)}`} />
          <div class="stack">
            <p class="small"><span class="quiet">{t("orEnterSecret")}</span><br /><span class="mono secret">{secret.secret.replace(/(.{4})(?=.)/g, "$1 ")}</span></p>
            <Code value={code} onInput={setCode} recovery={false} />
          </div>
        </div>
        <ErrorNotice text={problem} />
        <div class="row"><button aria-disabled={busy}>{t("confirm")}</button><button type="button" class="bare" onClick={() => { setSecret(null); setCode(""); setProblem(""); }}>{t("cancel")}</button></div>
      </form>
    );
  }
  const steps = {
    enrol: { title: t("setUpApp"), text: t("confirmItsYou"), label: t("continue"), work: async (p: Proof) => setSecret(await client.call<Secret>("totp", { body: p })) },
    renew: { title: t("newCodes"), text: t("oldCodesStop"), label: t("createCodes"), work: async (p: Proof) => setCodes((await client.call<{ recoveryCodes: string[] }>("totp/recovery-codes", { body: p })).recoveryCodes) },
    remove: { title: t(keys > 0 ? "removeApp" : "removeFactor"), text: `${t(keys > 0 ? "passkeysStay" : "passwordOnly")} ${t("signedOutElsewhere")}`, label: t("remove"), work: async (p: Proof) => { await client.call("totp/remove", { body: p }); onChange(); } },
  };
  const { active } = factor;
  return (
    <>
      {active ? <p><span class="badge good">{t("on")}</span> {t(keys > 0 ? "appOrPasskeyAtSignIn" : "appAtSignIn")}</p>
        : <p><span class="badge">{t("off")}</span> {t(keys > 0 ? "appWithoutPasskey" : "protectAccount")}</p>}
      {factors.needed && <p>{t("codesLeft", { n: factor.recoveryCodes })}</p>}
      <div class="row">
        {!active && <button type="button" class="small" onClick={() => setAsking("enrol")}>{t("setUpApp")}</button>}
        {factors.needed && <button type="button" class="plain small" onClick={() => setAsking("renew")}>{t("newCodes")}</button>}
        {active && (keys > 0 || !factor.required) && <button type="button" class="plain small" onClick={() => setAsking("remove")}>{t("remove")}</button>}
      </div>
      {asking && <Prove {...steps[asking]} email={email} factors={factors} onClose={() => setAsking(null)} />}
    </>
  );
}

/** The new recovery codes, which are displayed only once. */
function NewCodes({ codes, onKept }: { codes: string[]; onKept: () => void }) {
  return (
    <>
      <p class="notice good" role="status">{t("factorOn")}</p>
      <p>{t("storeCodes")}</p>
      <ul class="codes mono" aria-label={t("recoveryCodes")}>{codes.map((c) => <li key={c}>{c}</li>)}</ul>
      <button type="button" onClick={onKept}>{t("codesStored")}</button>
    </>
  );
}

/** The passkeys of the account. Passkeys can be added and removed. */
function Passkeys({ client, email, passkeys, factors, last, more, onChange }: { client: Client; email: string; passkeys: Passkey[]; factors: SecondFactors; /** Whether a second factor is required and the account has only one, which is a passkey. That passkey cannot be removed. */ last: boolean; /** Whether passkeys can be added. */ more: boolean; onChange: () => void }) {
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
      <p>{t("passkeysText")}</p>
      {passkeys.length > 0 && (
        <ul class="passkeys" aria-label={t("passkeys")}>
          {passkeys.map((p) => (
            <li key={p.id}>
              <span><bdi>{p.name}</bdi><br /><span class="quiet small">{p.usedAt ? t("passkeyUsed", { since: formatTime(p.createdAt), used: formatTime(p.usedAt) }) : t("passkeyUnused", { since: formatTime(p.createdAt) })}</span></span>
              {!last && <button type="button" class="plain small" aria-label={t("removeName", { name: p.name })} onClick={() => setAsking(p)}>{t("remove")}</button>}
            </li>
          ))}
        </ul>
      )}
      {more ? <p><button type="button" class="small" onClick={() => setAsking("new")}>{t("addPasskey")}</button></p> : <p class="quiet small">{t("noPasskeySupport")}</p>}
      {asking === "new" && (
        <Prove email={email} title={t("addPasskey")} text={t("confirmItsYou")} label={t("continue")} factors={factors} work={add} onClose={() => setAsking(null)}>
          <div><label for="passkeyname">{t("name")}</label><input id="passkeyname" required maxLength={100} autocomplete="off" placeholder={t("passkeyExample")} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
        </Prove>
      )}
      {asking && asking !== "new" && <Prove email={email} title={t("removeQuestion", { name: asking.name })} text={`${t("passkeyGone")} ${t("signedOutElsewhere")}`} label={t("remove")} factors={factors} work={remove(asking)} onClose={() => setAsking(null)} />}
    </>
  );
}

/** The only page that is available until a required second factor is set up. */
export function MustEnrol({ client, email, onDone }: { client: Client; email: string; onDone: () => void }) {
  const { data: options, problem } = useLoad<SignInOptions>(client, "sign-in");
  const passkeys = (options?.passkeys ?? false) && passkeysKnown();
  if (!options && !problem) return <main class="narrow"><Loading text={t("loading")} /></main>;
  return (
    <main class="narrow">
      <section class="card stack">
        <Title>{t("factorRequired")}</Title>
        <p>{t(passkeys ? "factorRequiredEither" : "factorRequiredApp")}</p>
        <AuthenticatorApp client={client} email={email} factor={{ active: false, required: true, recoveryCodes: 0 }} factors={noSecondFactor} keys={0} onChange={onDone} />
        {passkeys && <><h2>{t("orPasskey")}</h2><Passkeys client={client} email={email} passkeys={[]} factors={noSecondFactor} last={false} more onChange={onDone} /></>}
        <p><button type="button" class="bare small" onClick={() => client.logout()}>{t("signOut")}</button></p>
      </section>
    </main>
  );
}

function Password({ client, email, factors, onChange }: { client: Client; email: string; factors: SecondFactors; onChange: () => void }) {
  const empty = { password: "", newPassword: "", code: "" };
  const [form, setForm] = useState(empty);
  const [result, setResult] = useState({ bad: false, text: "" });
  const set = (k: keyof typeof form) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  const [busy, run] = useBusy();
  const byPasskey = factors.passkey;
  const change = async (passkey?: () => Promise<PasskeyAnswer>) => {
    const { code, ...rest } = form;
    try {
      await client.call("password", { body: passkey ? { ...rest, passkey: await passkey() } : factors.needed ? { ...rest, code } : rest });
      setForm(empty);
      setResult({ bad: false, text: `${t("passwordChanged")} ${t("signedOutElsewhere")}` });
      onChange();
    } catch (x) {
      setResult({ bad: true, text: errorText(x) });
    }
  };
  return (
    <form class="stack" onSubmit={(e) => { e.preventDefault(); void run(() => change()); }}>
      <Owner email={email} />
      <div><label for="now">{t("currentPassword")}</label><input id="now" type="password" autocomplete="current-password" required value={form.password} onInput={set("password")} /></div>
      <div><label for="fresh">{t("newPassword")}</label><input id="fresh" type="password" autocomplete="new-password" required minLength={10} maxLength={128} aria-describedby="freshhint" value={form.newPassword} onInput={set("newPassword")} />
        <p id="freshhint" class="quiet small">{t("passwordHint", { n: 10 })}</p></div>
      {factors.needed && <SecondFactorInput app={factors.app} onPasskey={byPasskey && (() => void run(() => change(byPasskey)))} code={form.code} onCode={(code) => setForm({ ...form, code })} />}
      {result.text && <p class={`notice ${result.bad ? "bad" : "good"}`} role={result.bad ? "alert" : "status"}>{result.text}</p>}
      <button class={byPasskey ? "plain small" : "small"} aria-disabled={busy}>{t("changePassword")}</button>
    </form>
  );
}

/** Connects an account that has a password to the provider for signing in. */
function Connect({ client, email, factors, name }: { client: Client; email: string; factors: SecondFactors; name: string }) {
  const [asking, setAsking] = useState(false);
  const work = async (p: Proof) => goToProvider((await client.call<{ url: string }>("provider/connect", { body: p })).url);
  return (
    <section class="card stack later">
      <h2>{t("signInWith", { provider: name })}</h2>
      <p>{t("connectText")}</p>
      <p><button type="button" class="plain small" onClick={() => setAsking(true)}>{t("connect")}</button></p>
      {asking && <Prove email={email} title={t("connectWith", { provider: name })} text={t("connectHow")} label={t("continue")} factors={factors} work={work} onClose={() => setAsking(false)} />}
    </section>
  );
}

export function Account({ client, email, part }: { client: Client; email: string; /** The section named in the address, or "" if there is none. */ part: string }) {
  usePageTitle(t("yourAccount"));
  const { totp, passkeys, factors } = useSecondFactors(client);
  const sessions = useList<Session>(client, "sessions");
  const provider = useContext(AtProvider);
  const options = useLoad<SignInOptions>(client, provider ? null : "sign-in");
  const notifications = useLoad<NotificationSettings>(client, "me/notifications");
  const [ending, setEnding] = useState<Session | "others" | null>(null);
  const end = async (p: Proof) => {
    await client.call("sessions/end", { body: { ...p, ...(ending === "others" || !ending ? {} : { sessionId: ending.id }) } });
    sessions.reload();
  };
  const keys = passkeys.data?.length ?? 0;
  const more = (options.data?.passkeys ?? false) && passkeysKnown();
  // The section named in the address comes first, because the page would otherwise have to be scrolled to it.
  const named = part === "notifications";
  const emails = <Notifications client={client} settings={notifications} named={named} />;
  const changed = () => { totp.reload(); passkeys.reload(); sessions.reload(); };
  // The sections are displayed together, so that none of them moves the others.
  const parts = [totp, passkeys, sessions, notifications, ...(provider ? [] : [options])];
  if (!parts.every((x) => x.data ?? x.problem)) return <><Title>{t("yourAccount")}</Title><p class="quiet">{t("loading")}</p></>;
  return (
    <>
      <Title>{t("yourAccount")}</Title>
      <ErrorNotice text={totp.problem || passkeys.problem || sessions.problem} />
      {named && emails}
      {provider ? <section class="card"><h2>{t("signInHeading")}</h2><p>{t("signInThroughProvider")}</p></section> : (<div class="columns">
        <section class="card"><h2>{t("authenticatorApp")}</h2>{totp.data && <AuthenticatorApp client={client} email={email} factor={totp.data} factors={factors} keys={keys} onChange={changed} />}
          {passkeys.data && (keys > 0 || more) && <><h2 class="later">{t("passkeys")}</h2><Passkeys client={client} email={email} passkeys={passkeys.data} factors={factors} last={keys === 1 && !factors.app && (totp.data?.required ?? false)} more={more} onChange={changed} /></>}</section>
        <section class="card stack"><h2>{t("password")}</h2><Password client={client} email={email} factors={factors} onChange={sessions.reload} /></section>
      </div>)}
      {options.data?.provider && <Connect client={client} email={email} factors={factors} name={options.data.provider.name} />}
      {!named && emails}
      <h2 class="later">{t("sessions")}</h2>
      {sessions.data && (
        <Table label={t("sessions")} head={[t("device"), t("ipAddress"), t("since"), t("lastUsed"), t("signOut")]}>
          {sessions.data.map((s) => (
            <tr key={s.id}><td><bdi>{s.userAgent || t("unknown")}</bdi></td><td><bdi>{s.ip}</bdi></td><td>{formatTime(s.createdAt)}</td><td>{formatTime(s.seenAt)}</td>
              <td>{s.current ? <span class="badge good">{t("thisSession")}</span> : <button type="button" class="plain small" onClick={() => setEnding(s)}>{t("signOut")}</button>}</td></tr>
          ))}
        </Table>
      )}
      {(sessions.data?.length ?? 0) > 1 && <p><button type="button" class="plain small" onClick={() => setEnding("others")}>{t("signOutElsewhere")}</button></p>}
      {ending && <Prove email={email} title={t(ending === "others" ? "signOutElsewhereQuestion" : "signOutThereQuestion")} text={t("sessionEndsThere")} label={t("signOut")} factors={factors} work={end} onClose={() => setEnding(null)} />}
    </>
  );
}
