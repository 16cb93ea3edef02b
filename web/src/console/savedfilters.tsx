import { useState } from "preact/hooks";
import { Icon } from "../ui/parts";
import type { Identity } from "./api";
import { FormDialog } from "./parts";
import { t } from "./texts";

interface Saved { name: string; filters: Record<string, string> }

const most = 20;

const kept = (who: Identity): string => `countersign:filters:${who.app.id}:${who.user?.id ?? ""}`;

function read(who: Identity): Saved[] {
  try {
    const saved: unknown = JSON.parse(localStorage.getItem(kept(who)) ?? "[]");
    return Array.isArray(saved) ? saved as Saved[] : [];
  } catch {
    return [];
  }
}

/**
 * The filters that the user has saved in this browser. A click applies a saved filter, and the current filters can be
 * saved.
 */
export function SavedFilters({ who, names, get, set }: { who: Identity; names: readonly string[]; get: (name: string) => string; set: (changes: Record<string, string>) => void }) {
  const [saved, setSaved] = useState(() => read(who));
  const [naming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const current = Object.fromEntries(names.map((n) => [n, get(n)]));
  const used = names.some((n) => current[n]);
  const same = (s: Saved) => names.every((n) => (s.filters[n] ?? "") === current[n]);
  const store = (next: Saved[]) => {
    localStorage.setItem(kept(who), JSON.stringify(next));
    setSaved(next);
  };
  const keep = async () => {
    await Promise.resolve();
    store([...saved.filter((s) => s.name !== name.trim()), { name: name.trim(), filters: current }].slice(-most));
    setName("");
  };
  const known = saved.some(same);
  if (saved.length === 0 && !used) return null;
  return (
    <div class="row savedfilters" role="group" aria-label={t("savedFilters")}>
      {saved.map((s) => (
        <span key={s.name} class={`chip ${same(s) ? "on" : ""}`}>
          <button type="button" class="bare small" aria-pressed={same(s)} onClick={() => set(same(s) ? Object.fromEntries(names.map((n) => [n, ""])) : { ...Object.fromEntries(names.map((n) => [n, ""])), ...s.filters })}><bdi>{s.name}</bdi></button>
          <button type="button" class="bare small" aria-label={t("forgetFilter", { name: s.name })} onClick={() => store(saved.filter((o) => o !== s))}><Icon name="cross" size={14} /></button>
        </span>
      ))}
      {used && !known && <button type="button" class="bare small" onClick={() => setNaming(true)}>{t("saveFilters")}</button>}
      {naming && (
        <FormDialog title={t("saveFilters")} label={t("save")} work={keep} onClose={() => setNaming(false)}>
          <div><label for="filtername">{t("name")}</label><input id="filtername" data-first required maxLength={40} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
          <p class="quiet small">{t("savedHere")}</p>
        </FormDialog>
      )}
    </div>
  );
}
