import { request } from "../ui/http";
import { t } from "./texts";

/** The response of an OpenID provider, in the address of this page. */
export interface Returned { code: string; state: string; iss?: string }

const backKey = "countersign:console:back";

/** Opens the provider's page. The current page is restored afterwards. */
export function goToProvider(address: string): void {
  sessionStorage.setItem(backKey, location.hash);
  location.assign(address);
}

/** The time to wait for the provider's page, in milliseconds, before it can be opened again. */
const leaving = 10_000;

/**
 * Begins a sign-in at the provider, which authenticates the person again or with another account. The promise resolves
 * after 10 seconds, or when Back shows the page again: a second sign-in begun before would invalidate the first.
 */
export async function signInAtProvider(asked: { again?: boolean; otherAccount?: boolean }): Promise<void> {
  goToProvider((await request<{ url: string }>("/v1/console/provider/begin", { body: asked })).url);
  await new Promise((done) => { setTimeout(done, leaving); addEventListener("pageshow", done, { once: true }); }); // shown again: by Back
}

/**
 * Removes the provider's response from the address, so that it enters no history and is sent to nobody else. The
 * console page to return to comes from this tab's own storage: the address names none. error is the provider's error code.
 */
export function takeReturned(): Returned | { error: string } | null {
  if (location.pathname !== "/console/signed-in") return null;
  const q = new URLSearchParams(location.search);
  const back = sessionStorage.getItem(backKey) ?? "";
  sessionStorage.removeItem(backKey);
  history.replaceState(null, "", `/console${back.startsWith("#/") ? back : ""}`);
  const [code, state, iss, error] = ["code", "state", "iss", "error"].map((name) => q.get(name));
  if (code && state) return { code, state, ...(iss ? { iss } : {}) };
  return { error: /^[a-z_]{1,40}$/.test(error ?? "") ? error! : "" };
}

/** Returns the text for the provider's error code, "" for an unknown one. */
export function providerProblem(code: string): string {
  if (code === "access_denied") return t("providerDenied");
  return code ? t("providerFailedWith", { code }) : t("providerFailed");
}
