import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { focusHome } from "./focus";
import { languages, type Language } from "./i18n";

const doubleClick = 500; // in milliseconds

/** A modal dialog. The browser keeps the focus inside it and closes it on Escape, unless the dialog is required. */
export function Dialog({ label, required = false, onClose, children }: { label: string; /** The dialog hides the page, and Escape does not close it. */ required?: boolean; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  // Open the dialog in the same task as the request, because the next key press must reach the dialog, not the page
  // behind it.
  useLayoutEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    if (!dialog.open) dialog.showModal();
    // A dialog is scrolled to its top, regardless of the position of its first button. The first input receives the
    // focus, or the heading if there is no input.
    (dialog.querySelector<HTMLElement>("[data-first]") ?? dialog.querySelector<HTMLElement>("h2[tabindex]"))?.focus({ preventScroll: true });
    dialog.scrollTop = 0;
    // The second tap of a double tap was intended for the button that opened the dialog, not for the button that is now
    // at that position.
    dialog.style.pointerEvents = "none";
    const timer = setTimeout(() => { dialog.style.pointerEvents = ""; }, doubleClick);
    return () => {
      clearTimeout(timer);
      dialog.close();
      const returnTo = document.querySelector<HTMLElement>("[role=alertdialog]") ?? (before?.isConnected ? before : focusHome());
      returnTo?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog ref={ref} class={required ? "required" : undefined} aria-label={label} onKeyDown={(e) => { if (required && e.key === "Escape") e.preventDefault(); }} onCancel={(e) => { e.preventDefault(); onClose(); }}>
      {children}
    </dialog>
  );
}

/** An error message. It is scrolled into view, because a form may be longer than the screen. */
export function ErrorText({ text }: { text: string }) {
  const ref = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => ref.current?.scrollIntoView({ block: "nearest", behavior: "instant" }), [text]);
  return text ? <p ref={ref} class="notice bad" role="alert" dir="auto">{text}</p> : null;
}

/** A heading that receives the focus when its step begins, so that screen readers continue there. */
export function Title({ children, level = 1 }: { children: ComponentChildren; level?: 1 | 2 }) {
  const ref = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => ref.current?.focus({ preventScroll: true }), []);
  return level === 1 ? <h1 ref={ref} tabIndex={-1}>{children}</h1> : <h2 ref={ref} tabIndex={-1}>{children}</h2>;
}

export function LanguageChoice({ speech, onChoose }: { speech: { language: Language; t: (key: "language") => string }; onChoose: (l: Language) => void }) {
  return (
    <select class="languages" aria-label={speech.t("language")} value={speech.language} onChange={(e) => onChoose(e.currentTarget.value as Language)}>
      {Object.entries(languages).map(([tag, name]) => <option key={tag} value={tag} lang={tag}>{name}</option>)}
    </select>
  );
}

const strokes = {
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6L6 18",
  pen: "M4 20l1-4L16.5 4.5l3 3L8 19l-4 1zM14 7l3 3",
  clock: "M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  link: "M10 14l4-4M8.5 11.5L6 14a3.5 3.5 0 0 0 5 5l2.5-2.5M15.5 12.5L18 10a3.5 3.5 0 0 0-5-5l-2.5 2.5",
  question: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 17.5v.01",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  dots: "M12 5.5v.01M12 12v.01M12 18.5v.01",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
};
export type IconName = keyof typeof strokes;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={strokes[name]} />
    </svg>
  );
}

export function StatusIcon({ icon, tone = "" }: { icon: IconName; tone?: "" | "good" | "bad" }) {
  return <div class={`sealmark ${tone}`}><Icon name={icon} /></div>;
}

export function Loading({ text }: { text: string }) {
  return <div class="narrow row" role="status"><div class="spinner" /><span class="quiet">{text}</span></div>;
}
