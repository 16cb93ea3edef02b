import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { hasRole, type Client, type Identity } from "./api";
import { nameOf } from "./parts";
import { t, type TextKey } from "./texts";
import { WorkspaceChoice } from "./workspace";

const sections: Record<string, TextKey> = { envelopes: "envelopes", templates: "templates", bulk: "bulkSends", webhooks: "webhooks", contacts: "contacts", usage: "usage", settings: "settings" };
const help: Record<string, TextKey> = { problems: "problems" }; // for users who may provide support
const administration: Record<string, TextKey> = { users: "users", application: "application" };

/** The header of every page, with the sections, the workspace and the account menu. */
export function Header({ client, who, current, switcher }: { client: Client; who: Identity; current: string; switcher: ComponentChildren }) {
  const ref = useRef<HTMLElement>(null);
  // On a phone, the sections are on one line, which is scrolled to the current section.
  useEffect(() => { ref.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); }, [current]);
  const shown = { ...sections, ...(hasRole(who, "support") ? help : {}), ...(hasRole(who, "admin") ? administration : {}) };
  return (
    <header class="masthead">
      <strong>Countersign</strong>
      <nav ref={ref} aria-label={t("sections")}>{Object.entries(shown).map(([key, name]) => <a key={key} href={`#/${key}`} aria-current={key === current ? "page" : undefined}>{t(name)}</a>)}</nav>
      <WorkspaceChoice who={who} />
      <AccountMenu client={client} who={who} current={current} switcher={switcher} />
    </header>
  );
}

/**
 * The account menu, labeled with the user's name. It contains the account, the language, and the button to sign out.
 */
function AccountMenu({ client, who, current, switcher }: { client: Client; who: Identity; current: string; switcher: ComponentChildren }) {
  const ref = useRef<HTMLDetailsElement>(null);
  const close = () => { if (ref.current) ref.current.open = false; };
  useEffect(() => {
    const leave = (e: Event) => { if (!ref.current?.contains(e.target as Node)) close(); };
    addEventListener("pointerdown", leave);
    addEventListener("focusin", leave);
    return () => { removeEventListener("pointerdown", leave); removeEventListener("focusin", leave); };
  }, []);
  const escape = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || !ref.current?.open) return;
    e.preventDefault();
    close();
    ref.current.querySelector("summary")?.focus();
  };
  return (
    <details ref={ref} class="account" onKeyDown={escape}>
      <summary><bdi>{who.user?.name ?? who.app.name}</bdi></summary>
      <div class="menu">
        <p class="quiet small">{who.user && <><bdi>{who.user.email}</bdi><br /></>}<bdi>{who.app.name}</bdi>{who.user && <> · {nameOf(who.user.role)}</>}</p>
        {who.user && <a href="#/account" aria-current={current === "account" ? "page" : undefined} onClick={close}>{t("yourAccount")}</a>}
        {switcher}
        <button type="button" class="plain small" onClick={() => client.logout()}>{t("signOut")}</button>
      </div>
    </details>
  );
}
