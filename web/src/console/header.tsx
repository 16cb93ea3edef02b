import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { hasRole, type Client, type Identity } from "./api";
import { nameOf } from "./parts";
import { t, type TextKey } from "./texts";
import { WorkspaceChoice } from "./workspace";

const sections: Record<string, TextKey> = { envelopes: "envelopes", templates: "templates", bulk: "bulkSends", webhooks: "webhooks", contacts: "contacts", usage: "usage", settings: "settings" };
const help: Record<string, TextKey> = { problems: "problems" }; // for users with a role that includes support
const administration: Record<string, TextKey> = { users: "users", application: "application" };

/** The header of every page, with the sections, the workspace and the account menu. */
export function Header({ client, who, current, switcher }: { client: Client; who: Identity; current: string; switcher: ComponentChildren }) {
  const ref = useRef<HTMLDivElement>(null);
  const [fitting, setFitting] = useState(Infinity); // number of sections that fit on the line
  // On a phone, the sections are on one line, which is scrolled to the current section.
  useEffect(() => { ref.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); }, [current]);
  // On larger screens, the sections that do not fit on the line wrap below it, where they are hidden.
  useLayoutEffect(() => {
    const line = ref.current!;
    const measure = () => {
      const links = [...line.children] as HTMLElement[];
      const wrapped = links.findIndex((a) => a.offsetTop > links[0]!.offsetTop);
      setFitting(wrapped < 0 ? Infinity : wrapped);
    };
    const watch = new ResizeObserver(measure);
    for (const box of [line, ...line.children]) watch.observe(box);
    return () => watch.disconnect();
  });
  const links = Object.entries({ ...sections, ...(hasRole(who, "support") ? help : {}), ...(hasRole(who, "admin") ? administration : {}) });
  return (
    <header class="masthead">
      <strong>Countersign</strong>
      <nav aria-label={t("sections")}>
        <div ref={ref} class="sections">{links.map(([key, name], i) => <a key={key} href={`#/${key}`} class={i < fitting ? undefined : "over"} aria-current={key === current ? "page" : undefined}>{t(name)}</a>)}</div>
        {fitting < links.length && (
          <Menu kind="rest" label={t("moreSections")} current={links.slice(fitting).some(([key]) => key === current)}>
            {(close) => links.slice(fitting).map(([key, name]) => <a key={key} href={`#/${key}`} aria-current={key === current ? "page" : undefined} onClick={close}>{t(name)}</a>)}
          </Menu>
        )}
      </nav>
      <WorkspaceChoice who={who} />
      <AccountMenu client={client} who={who} current={current} switcher={switcher} />
    </header>
  );
}

/** A button that opens a menu. The menu closes when the focus or a click leaves it, and on Escape. */
function Menu({ kind, label, current = false, children }: { kind: "account" | "rest"; label: string; /** Whether the menu contains the current section. */ current?: boolean; children: (close: () => void) => ComponentChildren }) {
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
    <details ref={ref} class={`headmenu ${kind} ${current ? "current" : ""}`} onKeyDown={escape}>
      <summary><bdi>{label}</bdi></summary>
      <div class="menu">{children(close)}</div>
    </details>
  );
}

/**
 * The account menu, labeled with the user's name. It contains the account, the language, and the button to sign out.
 */
function AccountMenu({ client, who, current, switcher }: { client: Client; who: Identity; current: string; switcher: ComponentChildren }) {
  return (
    <Menu kind="account" label={who.user?.name ?? who.app.name}>
      {(close) => (
        <>
          <p class="quiet small">{who.user && <><bdi>{who.user.email}</bdi><br /></>}<bdi>{who.app.name}</bdi>{who.user && <> · {nameOf(who.user.role)}</>}</p>
          {who.user && <a href="#/account" aria-current={current === "account" ? "page" : undefined} onClick={close}>{t("yourAccount")}</a>}
          {switcher}
          <button type="button" class="plain small" onClick={() => client.logout()}>{t("signOut")}</button>
        </>
      )}
    </Menu>
  );
}
