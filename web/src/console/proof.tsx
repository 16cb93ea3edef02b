import { createContext, type ComponentChildren } from "preact";
import { useContext, useState } from "preact/hooks";
import { ApiError } from "../ui/http";
import { Dialog } from "../ui/parts";
import { errorText } from "./api";
import { SecondFactorInput, type SecondFactors } from "./factors";
import { ErrorNotice, useBusy } from "./parts";
import type { PasskeyAnswer } from "./passkeys";
import { signInAtProvider } from "./provider";
import { t } from "./texts";

/** Proof of the user's identity: the password, and a second factor if the account has one. */
export interface Proof { password: string; code?: string; passkey?: PasskeyAnswer }

/** Identifies the account in a password form for password managers. */
export const Owner = ({ email }: { email: string }) => <input hidden readOnly autocomplete="username" value={email} />;

/** Reports whether the user signs in through an OpenID provider, and therefore proves their identity there. */
export const AtProvider = createContext(false);

/** Requests proof of identity before a change to the account. */
export function Prove({ email, title, text, label, factors, children, work, onClose }: { email: string; title: string; text: string; label: string; factors: SecondFactors; children?: ComponentChildren; work: (p: Proof) => Promise<unknown>; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [problem, setProblem] = useState("");
  const [again, setAgain] = useState(false);
  const provider = useContext(AtProvider);
  const [busy, run] = useBusy();
  const byPasskey = factors.passkey;
  const failed = (x: unknown) => {
    if (x instanceof ApiError && x.code === "sign_in_again") setAgain(true);
    else setProblem(errorText(x));
  };
  const prove = (proof: () => Promise<Proof>) => void run(() => proof().then(work).then(onClose, failed));
  if (again) {
    return (
      <Dialog label={title} onClose={onClose}>
        <div class="stack">
          <h2>{title}</h2>
          <p>{t("signInAgainText")}</p>
          <ErrorNotice text={problem} />
          <div class="row end"><button type="button" class="bare" onClick={onClose}>{t("cancel")}</button><button type="button" aria-disabled={busy} onClick={() => void run(() => signInAtProvider({ again: true }).catch(failed))}>{t("signInAgain")}</button></div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog label={title} onClose={onClose}>
      <form class="stack" onSubmit={(e) => { e.preventDefault(); prove(async () => provider ? { password: "-" } : factors.needed ? { password, code } : { password }); }}>
        <h2>{title}</h2>
        <p>{text}</p>
        {children}
        {!provider && (
          <>
            <Owner email={email} />
            <div><label for="proof">{t("yourPassword")}</label><input id="proof" type="password" autocomplete="current-password" required value={password} onInput={(e) => setPassword(e.currentTarget.value)} /></div>
          </>
        )}
        {factors.needed && !provider && <SecondFactorInput id="proofcode" app={factors.app} onPasskey={byPasskey && (() => prove(async () => ({ password, passkey: await byPasskey() })))} code={code} onCode={setCode} />}
        <ErrorNotice text={problem} />
        <div class="row end"><button type="button" class="bare" onClick={onClose}>{t("cancel")}</button><button aria-disabled={busy}>{label}</button></div>
      </form>
    </Dialog>
  );
}

