import { request } from "../ui/http";
import { t } from "./texts";

/** The response of an OpenID provider, which is received in the URL of this page. */
export interface Returned { code: string; state: string; iss?: string }

const backKey = "countersign:console:back";

/** Opens the provider's page. The current page is restored afterwards. */
export function goToProvider(address: string): void {
  sessionStorage.setItem(backKey, location.hash);
  location.assign(address);
}

/** The time before the provider's page can be opened again, in milliseconds. */
const leaving = 10_000;

/**
 * Begins a sign-in through the provider. The options can require the user to authenticate again or to choose another
 * account. The promise resolves after 10 seconds, or when the user returns to the page with the Back button, because
 * starting a second sign-in earlier would invalidate the first.
 */
export async function signInAtProvider(asked: { again?: boolean; otherAccount?: boolean }): Promise<void> {
  goToProvider((await request<{ url: string }>("/v1/console/provider/begin", { body: asked })).url);
  // The pageshow event means that the user has returned with the Back button.
  await new Promise((done) => { setTimeout(done, leaving); addEventListener("pageshow", done, { once: true }); });
}

/**
 * Removes the provider's response from the URL, so that it is neither added to the history nor sent to anyone else. The
 * console page to return to is read from this tab's storage, because the URL does not contain it. The member error is
 * the provider's error code.
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

/** Returns the message for the provider's error code, or a general message if there is no code. */
export function providerProblem(code: string): string {
  if (code === "access_denied") return t("providerDenied");
  return code ? t("providerFailedWith", { code }) : t("providerFailed");
}
