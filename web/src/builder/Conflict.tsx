import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "./texts";

/**
 * Displays another user's changes, and keeps the focus until the user has made a choice. No button receives the focus,
 * so that a key that is being pressed does not trigger a choice.
 */
export function Conflict({ isTemplate, theirs, onResolve }: { isTemplate: boolean; theirs: readonly string[]; onResolve: (keep: "mine" | "theirs") => void }) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current!.focus({ preventScroll: true });
    return () => (before?.isConnected && before !== document.body ? before : document.querySelector<HTMLElement>(".bpages"))?.focus({ preventScroll: true });
  }, []);
  return (
    <div ref={ref} class="bconflict notice bad" role="alertdialog" tabIndex={-1} aria-label={t(isTemplate ? "templateChanged" : "draftChanged")} aria-describedby="bconflict">
      <div id="bconflict">
        <p><strong>{t(isTemplate ? "somebodyTemplate" : "somebodyDraft")}</strong></p>
        <ul>{theirs.slice(0, 12).map((change) => <li key={change}>{change}</li>)}{theirs.length > 12 && <li>{t("andMore", { n: theirs.length - 12 })}</li>}</ul>
      </div>
      <div class="row"><button type="button" class="small" onClick={() => onResolve("theirs")}>{t("takeTheirs")}</button><button type="button" class="plain small" onClick={() => onResolve("mine")}>{t("keepMine")}</button></div>
    </div>
  );
}
