import { useEffect, useState } from "preact/hooks";
import { t } from "./texts";

/** The location within the console, in the form "#/section/id?filters". */
interface Route { section: string; id: string; query: URLSearchParams }

export function parse(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [section, id = ""] = path.split("/");
  return { section: section || "envelopes", id, query: new URLSearchParams(search) };
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const change = () => setHash((before) => {
      const [was, is] = [parse(before), parse(location.hash)];
      if (was.section !== is.section || was.id !== is.id) scrollTo(0, 0);
      return location.hash;
    });
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return parse(hash);
}

const lists = new Map<string, string>();

/** Returns the last location of a section's list. */
export const listHref = (section: string): string => lists.get(section) ?? `#/${section}`;

/**
 * Returns the filters of a list. They are part of the URL, so that the Back button, a reload, or a link sent to a
 * colleague displays the same list. Changing a filter does not add an entry to the history, and returns to the first
 * page.
 */
export function useFilters(): { get: (name: string) => string; set: (changes: Record<string, string>) => void } {
  const [query, setQuery] = useState(() => parse(location.hash).query);
  useEffect(() => {
    const change = () => setQuery(parse(location.hash).query);
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  useEffect(() => { lists.set(parse(location.hash).section, location.hash || "#/envelopes"); }, [query]);
  return {
    get: (name) => query.get(name) ?? "",
    set: (changes) => {
      const next = new URLSearchParams(parse(location.hash).query);
      if (!("cursor" in changes)) next.delete("cursor");
      for (const [name, value] of Object.entries(changes)) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      const text = next.toString();
      history.replaceState(history.state, "", `${location.hash.split("?")[0] || "#/envelopes"}${text && `?${text}`}`);
      setQuery(next);
    },
  };
}

/** Sets the name of the page in the browser's tabs and history. If it is null, the name does not change. */
export function usePageTitle(name: string | null): void {
  const title = name ? t("pageTitle", { page: name }) : t("consoleTitle");
  useEffect(() => { if (name !== null) document.title = title; }, [title]);
}
