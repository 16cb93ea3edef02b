import { useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../ui/http";
import { Title } from "../ui/parts";
import { errorText, type Client, type Identity, type SignInOptions } from "./api";
import { ErrorNotice } from "./parts";
import { passkeysKnown, usePasskey } from "./passkeys";
import { signInAtProvider } from "./provider";
import { usePageTitle } from "./route";

export function Login({ client, ended, told, onIn }: { client: Client; ended: boolean; told: string; onIn: (w: Identity) => void }) {
  usePageTitle("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState<string | null>(null); // null: none is asked for
  const [problem, setProblem] = useState(told);
  const [options, setOptions] = useState<SignInOptions>({ provider: null, passkeys: false });
  const { provider } = options;
  useEffect(() => { request<SignInOptions>("/v1/console/sign-in").then(setOptions, () => undefined); }, []);
  const [busy, setBusy] = useState(false);
  const enter = async (passkey: boolean) => {
    if (busy) return;
    setBusy(true);
    setProblem("");
    try {
      onIn(await client.login(email, password, passkey ? { passkey: await usePasskey(email, password) } : code === null ? {} : { code }));
    } catch (x) {
      if (x instanceof ApiError && x.code === "code_required") setCode("");
      else setProblem(errorText(x));
      setBusy(false);
    }
  };
  return (
    <main class="narrow">
      <form class="card stack" onSubmit={(e) => { e.preventDefault(); void enter(false); }}>
        <Title>Countersign console</Title>
        {ended && <p class="notice" role="status">Your session has ended. Please sign in again.</p>}
        <div><label for="email">E-mail</label><input id="email" type="email" autocomplete="username" required value={email} onInput={(e) => { setEmail(e.currentTarget.value); setCode(null); }} /></div>
        <div><label for="password">Password</label><input id="password" type="password" autocomplete="current-password" required value={password} onInput={(e) => setPassword(e.currentTarget.value)} /></div>
        {code !== null && <Code value={code} onInput={setCode} focus />}
        {code !== null && options.passkeys && passkeysKnown() && <p><button type="button" class="plain small" onClick={() => void enter(true)}>Use a passkey</button></p>}
        <ErrorNotice text={problem} />
        <button aria-disabled={busy}>Sign in</button>
        {provider && (
          <>
            <p class="or quiet small"><span>or</span></p>
            <button type="button" class="plain" onClick={() => { signInAtProvider().catch((x: unknown) => setProblem(errorText(x))); }}>{`Sign in with ${provider.name}`}</button>
          </>
        )}
      </form>
    </main>
  );
}

/** A code of the second factor. */
export function Code({ id = "code", value, onInput, focus = false, recovery = true }: { id?: string; value: string; onInput: (s: string) => void; focus?: boolean; recovery?: boolean }) {
  return (
    <div>
      <label for={id}>Code from your authenticator app</label>
      <input id={id} class="code" autocomplete="one-time-code" autocapitalize="off" spellcheck={false} inputMode={recovery ? "text" : "numeric"} required maxLength={40} value={value}
        aria-describedby={recovery ? `${id}hint` : undefined} ref={(x) => { if (focus && x && !x.dataset.met) { x.dataset.met = "1"; x.focus(); } }} onInput={(e) => onInput(e.currentTarget.value)} />
      {recovery && <p id={`${id}hint`} class="quiet small">Without your phone: one of your recovery codes.</p>}
    </div>
  );
}
