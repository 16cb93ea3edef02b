import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import { type Client, type Identity } from "./api";
import { t } from "./texts";

/** The workspaces, which the API calls tenants. */
interface Workspaces {
  /** The workspaces that contain envelopes, or for which the client may act. */
  list: readonly string[];
  /** The workspace whose envelopes are displayed, or "" for all workspaces. */
  chosen: string;
  /** The default workspace for new envelopes. */
  own: string;
  choose: (workspace: string) => void;
  /** Makes a workspace the default for new envelopes, because the user has just created one there. */
  used: (workspace: string) => void;
}

const Context = createContext<Workspaces>({ list: [], chosen: "", own: "main", choose: () => undefined, used: () => undefined });

export const useWorkspaces = (): Workspaces => useContext(Context);

const kept = (who: Identity): string => `countersign:workspace:${who.app.id}:${who.user?.id ?? ""}`;

/** Returns the last selections in this browser: the displayed workspace, and the workspace for new objects. */
function remembered(who: Identity): { chosen: string; own: string } {
  const { tenants } = who.app;
  const may = (workspace: string) => (tenants.length === 0 || tenants.includes(workspace) ? workspace : "");
  const [chosen = "", own = ""] = (localStorage.getItem(kept(who)) ?? "").split("\n").map(may);
  return { chosen: chosen || (tenants[0] ?? ""), own: own || chosen };
}

/** Provides the workspaces to the console, and stores the selection. */
export function WorkspaceProvider({ client, who, children }: { client: Client; who: Identity; children: ComponentChildren }) {
  const { tenants } = who.app;
  const [found, setFound] = useState<readonly string[]>(tenants);
  const [{ chosen, own }, setChosen] = useState(() => remembered(who));
  useEffect(() => {
    let stale = false;
    if (tenants.length === 0) void client.call<{ tenants: string[] }>("home").then((home) => { if (!stale) setFound(home.tenants); }, () => undefined);
    return () => { stale = true; };
  }, []);
  const value = useMemo<Workspaces>(() => {
    const list = chosen && !found.includes(chosen) ? [...found, chosen].sort() : found;
    const keep = (next: { chosen: string; own: string }) => {
      setChosen(next);
      localStorage.setItem(kept(who), `${next.chosen}\n${next.own}`);
    };
    return {
      list, chosen, own: chosen || own || (list[0] ?? "main"),
      choose: (workspace) => keep({ chosen: workspace, own: workspace || own }),
      used: (workspace) => keep({ chosen, own: workspace }),
    };
  }, [found, chosen, own]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

/** Displays the workspace in the header, as a selection list if there are several. */
export function WorkspaceChoice({ who }: { who: Identity }) {
  const { list, chosen, own, choose } = useWorkspaces();
  if (list.length < 2) return <span class="workspace small"><span class="sr">{t("workspace")}: </span><bdi>{own}</bdi></span>;
  return (
    <select class="workspace" aria-label={t("workspace")} value={chosen} onChange={(e) => choose(e.currentTarget.value)}>
      {who.app.tenants.length === 0 && <option value="">{t("allWorkspaces")}</option>}
      {list.map((w) => <option key={w}>{w}</option>)}
    </select>
  );
}

/**
 * Returns the workspace for a new object, which is the given workspace if there is one, and the workspace in the header
 * otherwise.
 */
export function useWorkspace(given?: string): [string, (workspace: string) => void] {
  const { own } = useWorkspaces();
  const [other, setOther] = useState<string | null>(null);
  return [given ?? other ?? own, setOther];
}

/**
 * A selection list for the workspace. It is hidden if there is only one workspace, or if one is selected in the header.
 */
export function WorkspaceField({ value, onChange, all = false }: { value: string; onChange: (workspace: string) => void; /** Allows an empty value, which means all workspaces. */ all?: boolean }) {
  const { list, chosen } = useWorkspaces();
  if (list.length < 2 || (chosen && !all)) return null;
  return (
    <div><label for="newtenant">{t("workspace")}</label>
      <select id="newtenant" value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {all && <option value="">{t("allWorkspaces")}</option>}
        {list.map((w) => <option key={w}>{w}</option>)}
      </select>
    </div>
  );
}
