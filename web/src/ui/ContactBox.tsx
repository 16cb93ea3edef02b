import { useId, useRef, useState } from "preact/hooks";

export interface Contact { name: string; email: string; phone: string | null }

/** Returns the contacts that match a part of a name or address. */
export type Contacts = (search: string) => Promise<Contact[]>;

/**
 * A text input for a name that suggests contacts, which can be selected with arrow keys and Enter or with a click.
 */
export function ContactBox({ value, contacts, onInput, onTake, label, listLabel, id = "rname", first = true }: { value: string; contacts: Contacts; onInput: (s: string) => void; onTake: (c: Contact) => void; label: string; /** The accessible name of the list of matching contacts. */ listLabel: string; id?: string; first?: boolean }) {
  const [found, setFound] = useState<readonly Contact[]>([]);
  const [at, setAt] = useState(-1);
  const asked = useRef(0);
  const list = useId();
  const type = (text: string) => {
    onInput(text);
    setAt(-1);
    const turn = ++asked.current;
    if (text.trim().length < 2) return setFound([]);
    contacts(text.trim()).then((some) => { if (turn === asked.current) setFound(some.slice(0, 6)); }, () => setFound([]));
  };
  const close = () => { asked.current++; setFound([]); setAt(-1); };
  const take = (c: Contact) => { onTake(c); close(); };
  const key = (e: KeyboardEvent) => {
    if (found.length === 0) return;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      setAt((at + (e.key === "ArrowDown" ? 1 : found.length + (at < 0 ? 0 : -1))) % found.length);
    } else if (e.key === "Enter" && at >= 0) {
      e.preventDefault();
      take(found[at]!);
    } else if (e.key === "Escape") {
      e.preventDefault();
      e.stopPropagation();
      close();
    }
  };
  return (
    <div class="bcombo">
      <label for={id}>{label}</label>
      <input id={id} data-first={first || undefined} required maxLength={255} autocomplete="off" role="combobox" aria-expanded={found.length > 0} aria-controls={list} aria-autocomplete="list" aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
        value={value} onInput={(e) => type(e.currentTarget.value)} onKeyDown={key} onBlur={close} />
      <ul id={list} role="listbox" aria-label={listLabel} hidden={found.length === 0}>
        {found.map((c, i) => (
          <li key={c.email} id={`${list}-${i}`} role="option" aria-selected={i === at} onPointerDown={(e) => e.preventDefault()} onClick={() => take(c)}><bdi>{c.name}</bdi> <span class="quiet small"><bdi>{c.email}</bdi></span></li>
        ))}
      </ul>
    </div>
  );
}
