import { request, type RequestOptions } from "../ui/http";

/** What a browser is asked about a passkey, and what its answer goes with. */
interface Options<T> { ceremony: string; publicKey: T }
/** Shows that a passkey of the account is here. */
export interface PasskeyAnswer { ceremony: string; credential: PublicKeyCredentialJSON }

/** Whether this browser has what passkeys need. */
export const passkeysKnown = (): boolean => typeof PublicKeyCredential !== "undefined" && "parseRequestOptionsFromJSON" in PublicKeyCredential;

class PasskeyError extends Error {}

/** The browser's error says no more than that something was not done. */
async function ask<T>(work: () => Promise<T | null>): Promise<T> {
  try {
    const made = await work();
    if (made) return made;
  } catch (e) {
    if (e instanceof DOMException && e.name === "InvalidStateError") throw new PasskeyError("This device has a passkey of this account already.");
    if (!(e instanceof DOMException)) throw e;
  }
  throw new PasskeyError("No passkey was used. Try again, or use a code.");
}

/** Asks for a passkey of the account, whose password is known. */
export async function usePasskey(email: string, password: string): Promise<PasskeyAnswer> {
  const o = await request<Options<PublicKeyCredentialRequestOptionsJSON>>("/v1/console/passkeys/challenge", { body: { email, password } });
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(o.publicKey);
  const made = await ask(() => navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  return { ceremony: o.ceremony, credential: made.toJSON() };
}

/** Makes a passkey for the account, and registers it under a name. */
export async function addPasskey(call: <T>(path: string, options: RequestOptions) => Promise<T>, name: string, proof: object): Promise<{ recoveryCodes: string[] }> {
  const o = await call<Options<PublicKeyCredentialCreationOptionsJSON>>("passkeys/begin", { body: proof });
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(o.publicKey);
  const made = await ask(() => navigator.credentials.create({ publicKey })) as PublicKeyCredential;
  return call("passkeys", { body: { ceremony: o.ceremony, name, credential: made.toJSON() } });
}
