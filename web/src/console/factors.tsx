import { useList, useLoad, type Client, type Loaded } from "./api";
import { passkeysKnown, provePasskey, type PasskeyAnswer } from "./passkeys";
import { t } from "./texts";

/** The authenticator app of the account, and the recovery codes. */
export interface Factor { active: boolean; required: boolean; recoveryCodes: number }
export interface Passkey { id: string; name: string; createdAt: string; usedAt: string | null }

/** The second factors of an account; any of them is sufficient. */
export interface SecondFactors {
  /** Recovery codes exist. */
  needed: boolean;
  app: boolean;
  /** null: the account has none, or this browser does not support passkeys. */
  passkey: (() => Promise<PasskeyAnswer>) | null;
}

export const noSecondFactor: SecondFactors = { needed: false, app: false, passkey: null };

/** The second factors of the signed-in user. */
export function useSecondFactors(client: Client): { totp: Loaded<Factor>; passkeys: Loaded<Passkey[]>; factors: SecondFactors } {
  const totp = useLoad<Factor>(client, "totp");
  const passkeys = useList<Passkey>(client, "passkeys");
  const app = totp.data?.active ?? false;
  const some = (passkeys.data?.length ?? 0) > 0;
  return { totp, passkeys, factors: { needed: app || some, app, passkey: some && passkeysKnown() ? () => provePasskey((path, o) => client.call(path, o)) : null } };
}

/** A code of the second factor. */
export function Code({ id = "code", label = t("appCode"), value, onInput, focus = false, recovery = true }: { id?: string; label?: string; value: string; onInput: (s: string) => void; focus?: boolean; /** A recovery code will do, and the hint says so. */ recovery?: boolean }) {
  return (
    <div>
      <label for={id}>{label}</label>
      <input id={id} class="code" autocomplete="one-time-code" autocapitalize="off" spellcheck={false} inputMode={recovery ? "text" : "numeric"} required maxLength={40} value={value}
        aria-describedby={recovery ? `${id}hint` : undefined} ref={(x) => { if (focus && x && !x.dataset.met) { x.dataset.met = "1"; x.focus(); } }} onInput={(e) => onInput(e.currentTarget.value)} />
      {recovery && <p id={`${id}hint`} class="quiet small">{t("useRecoveryCode")}</p>}
    </div>
  );
}

/**
 * Returns whether the form is complete except for the code, which a passkey replaces. The browser shows missing values.
 */
const entered = (form: HTMLFormElement | null) => [...(form?.elements ?? [])].every((x) => !(x instanceof HTMLInputElement) || x.classList.contains("code") || x.reportValidity());

/** The input of a second factor within a form: a button for a passkey, or a code. */
export function SecondFactorInput({ id, app, onPasskey, code, onCode, focus }: { id?: string; app: boolean; onPasskey: (() => void) | null; code: string; onCode: (s: string) => void; focus?: boolean }) {
  return (
    <>
      {onPasskey && (
        <>
          <button type="button" ref={(x) => { if (focus && x && !x.dataset.met) { x.dataset.met = "1"; x.focus(); } }} onClick={(e) => { if (entered(e.currentTarget.form)) onPasskey(); }}>{t("usePasskey")}</button>
          <p class="or quiet small"><span>{t("or")}</span></p>
        </>
      )}
      <Code id={id} label={app ? undefined : t("recoveryCode")} value={code} onInput={onCode} focus={focus && !onPasskey} recovery={app} />
    </>
  );
}
