import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../ui/parts";
import { errorText } from "./api";
import { Code } from "./login";
import { ErrorNotice } from "./parts";

/** What shows again who asks: the password, and a code where there is a second factor. */
export interface Proof { password: string; code?: string }

/** Tells password managers whose password a form asks for. */
export const Owner = ({ email }: { email: string }) => <input hidden readOnly autocomplete="username" value={email} />;

/** Asks for a proof before a change of the account. */
export function Prove({ email, title, text, label, factor, children, work, onClose }: { email: string; title: string; text: string; label: string; factor: boolean; children?: ComponentChildren; work: (p: Proof) => Promise<unknown>; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [problem, setProblem] = useState("");
  return (
    <Dialog label={title} onClose={onClose}>
      <form class="stack" onSubmit={(e) => { e.preventDefault(); work(factor ? { password, code } : { password }).then(onClose, (x: unknown) => setProblem(errorText(x))); }}>
        <h2>{title}</h2>
        <p>{text}</p>
        {children}
        <Owner email={email} />
        <div><label for="proof">Your password</label><input id="proof" type="password" autocomplete="current-password" required value={password} onInput={(e) => setPassword(e.currentTarget.value)} /></div>
        {factor && <Code id="proofcode" value={code} onInput={setCode} />}
        <ErrorNotice text={problem} />
        <div class="row end"><button type="button" class="bare" onClick={onClose}>Go back</button><button>{label}</button></div>
      </form>
    </Dialog>
  );
}

