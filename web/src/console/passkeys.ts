import { request, type RequestOptions } from "../ui/http";
import { t } from "./texts";

/** The options for a WebAuthn ceremony, with the ceremony's ID, which the response must contain. */
interface Options<T> { ceremony: string; publicKey: T }
/** Proves possession of a passkey of the account. */
export interface PasskeyAnswer { ceremony: string; credential: PublicKeyCredentialJSON }

/** Reports whether this browser supports passkeys. */
export const passkeysKnown = (): boolean => typeof PublicKeyCredential !== "undefined" && "parseRequestOptionsFromJSON" in PublicKeyCredential;

class PasskeyError extends Error {}

/** Runs a ceremony, and replaces the browser's errors because they do not state the reason. */
async function ask<T>(work: () => Promise<T | null>, otherwise: string): Promise<T> {
  try {
    const made = await work();
    if (made) return made;
  } catch (e) {
    if (e instanceof DOMException && e.name === "InvalidStateError") throw new PasskeyError(t("passkeyExists"));
    if (!(e instanceof DOMException)) throw e;
  }
  throw new PasskeyError(otherwise);
}

/** Calls the service for the signed-in user. */
type Call = <T>(path: string, options: RequestOptions) => Promise<T>;
type Challenge = Options<PublicKeyCredentialRequestOptionsJSON>;

/** Requests a passkey for the sign-in, after the password has been entered. */
export const signInByPasskey = async (email: string, password: string): Promise<PasskeyAnswer> => answer(await request<Challenge>("/v1/console/passkeys/challenge", { body: { email, password } }));

/** Requests a passkey of the signed-in user before a change to the account. */
export const provePasskey = async (call: Call): Promise<PasskeyAnswer> => answer(await call<Challenge>("passkeys/proof", { method: "POST" }));

async function answer(o: Challenge): Promise<PasskeyAnswer> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(o.publicKey);
  const made = await ask(() => navigator.credentials.get({ publicKey }), t("passkeyNotUsed")) as PublicKeyCredential;
  return { ceremony: o.ceremony, credential: made.toJSON() };
}

/** Creates a passkey for the account, and registers it under a name. */
export async function addPasskey(call: Call, name: string, proof: object): Promise<{ recoveryCodes: string[] }> {
  const o = await call<Options<PublicKeyCredentialCreationOptionsJSON>>("passkeys/begin", { body: proof });
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(o.publicKey);
  const made = await ask(() => navigator.credentials.create({ publicKey }), t("passkeyNotCreated")) as PublicKeyCredential;
  return call("passkeys", { body: { ceremony: o.ceremony, name, credential: made.toJSON() } });
}
