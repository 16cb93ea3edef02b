import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../ui/http";
import { Title } from "../ui/parts";
import { errorText, type Client, type Identity, type SignInOptions } from "./api";
import { SecondFactorInput } from "./factors";
import { ErrorNotice, useBusy } from "./parts";
import { passkeysKnown, signInByPasskey } from "./passkeys";
import { signInAtProvider } from "./provider";
import { usePageTitle } from "./route";
import { t } from "./texts";

/** The reason why a sign-in through the provider failed. */
export interface SignInProblem { text: string; /** The account caused the problem, so the user must choose another one. */ account: boolean }

/**
 * The sign-in form. If a user's session has ended, the form covers the user's page, which remains unchanged behind it.
 */
export function Login({ client, ended, signInProblem, user, onIn, foot }: { client: Client; ended: boolean; signInProblem: SignInProblem; /** The address of the user whose session has ended. */ user?: string; onIn: (w: Identity) => void; foot: ComponentChildren }) {
  usePageTitle(user === undefined ? "" : null);
  const [email, setEmail] = useState(user ?? "");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  // The available second factors, or null if none is required.
  const [second, setSecond] = useState<{ app: boolean; passkey: boolean } | null>(null);
  const [problem, setProblem] = useState(signInProblem.text);
  const [options, setOptions] = useState<SignInOptions | null>(null);
  const provider = options?.provider;
  useEffect(() => { request<SignInOptions>("/v1/console/sign-in").then(setOptions, () => setOptions({ provider: null, passkeys: false })); }, []);
  const [busy, run] = useBusy();
  const enter = async (passkey: boolean) => {
    setProblem("");
    try {
      onIn(await client.login(email, password, passkey ? { passkey: await signInByPasskey(email, password) } : second ? { code } : {}));
    } catch (x) {
      if (x instanceof ApiError && x.code === "code_required") setSecond({ app: x.details.authenticatorApp === true, passkey: x.details.passkey === true && passkeysKnown() });
      else setProblem(errorText(x));
    }
  };
  const toProvider = () => signInAtProvider({ otherAccount: signInProblem.account }).catch((x: unknown) => setProblem(errorText(x)));
  const form = (
    <>
      <form class={user ? "stack" : "card stack"} onSubmit={(e) => { e.preventDefault(); void run(() => enter(false)); }}>
        <Title>{t("consoleTitle")}</Title>
        {ended && <p class="notice" role="status">{t(user ? "sessionEndedKept" : "sessionEnded")}</p>}
        <div><label for="email">{t("email")}</label><input id="email" type="email" autocomplete="username" required value={email} onInput={(e) => { setEmail(e.currentTarget.value); setSecond(null); setCode(""); }} /></div>
        <div><label for="password">{t("password")}</label><input id="password" type="password" autocomplete="current-password" data-first={user ? "" : undefined} required value={password} onInput={(e) => setPassword(e.currentTarget.value)} /></div>
        {second && <SecondFactorInput app={second.app} onPasskey={second.passkey ? () => void run(() => enter(true)) : null} code={code} onCode={setCode} focus />}
        <ErrorNotice text={problem} />
        <button class={second?.passkey ? "plain" : ""} aria-disabled={busy}>{t("signIn")}</button>
        {provider && !second && (
          <>
            <p class="or quiet small"><span>{t("or")}</span></p>
            {user && <p class="quiet small">{t("signInReloads", { provider: provider.name })}</p>}
            <button type="button" class="plain" aria-disabled={busy} onClick={() => void run(toProvider)}>{t(signInProblem.account ? "signInOther" : "signInWith", { provider: provider.name })}</button>
          </>
        )}
      </form>
      {options && <div class="row later">{foot}</div>}
    </>
  );
  return user ? form : <main class="narrow">{form}</main>;
}
