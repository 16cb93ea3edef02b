import { useList, useLoad, type Client, type Loaded } from "./api";
import { passkeysKnown, provePasskey, type PasskeyAnswer } from "./passkeys";
import { t } from "./texts";

/** The authenticator app and the recovery codes of the account. */
export interface Factor { active: boolean; required: boolean; recoveryCodes: number }
export interface Passkey { id: string; name: string; createdAt: string; usedAt: string | null }

/** The second factors of an account. Any one of them is sufficient. */
export interface SecondFactors {
  /** Whether the account has a second factor, and therefore recovery codes. */
  needed: boolean;
  app: boolean;
  /**
   * Requests a passkey. The value is null if the account has no passkey, or if this browser does not support passkeys.
   */
  passkey: (() => Promise<PasskeyAnswer>) | null;
}

export const noSecondFactor: SecondFactors = { needed: false, app: false, passkey: null };

/** Returns the second factors of the signed-in user. */
export function useSecondFactors(client: Client): { totp: Loaded<Factor>; passkeys: Loaded<Passkey[]>; factors: SecondFactors } {
  const totp = useLoad<Factor>(client, "totp");
  const passkeys = useList<Passkey>(client, "passkeys");
  const app = totp.data?.active ?? false;
  const some = (passkeys.data?.length ?? 0) > 0;
  return { totp, passkeys, factors: { needed: app || some, app, passkey: some && passkeysKnown() ? () => provePasskey((path, o) => client.call(path, o)) : null } };
}

/** The input for a second-factor code. */
export function Code({ id = "code", label = t("appCode"), value, onInput, focus = false, recovery = true }: { id?: string; label?: string; value: string; onInput: (s: string) => void; focus?: boolean; /** Reports whether a recovery code is also accepted. */ recovery?: boolean }) {
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
 * Reports whether the form is complete, ignoring the code, which a passkey replaces. The browser marks missing values.
 */
const entered = (form: HTMLFormElement | null) => [...(form?.elements ?? [])].every((x) => !(x instanceof HTMLInputElement) || x.classList.contains("code") || x.reportValidity());

/** The input for a second factor in a form, which is a button for a passkey or an input for a code. */
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
