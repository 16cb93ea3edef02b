import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import "./pages.css";
import { Viewer, type Sheet } from "../pages/viewer";
import type { Translate } from "../ui/i18n";

interface Size { width: number; height: number }

/**
 * The pages of the sealed document. The number of pages is unknown, so the next page is requested when the last loaded
 * page is close to the visible area.
 */
export function SealedPages({ base, t }: { base: string; t: Translate }) {
  const viewer = useMemo(() => new Viewer((_, page) => `${base}/pages/${page}`, () => ({})), [base]);
  const [sizes, setSizes] = useState<readonly Size[]>([]);
  const [state, setState] = useState<"asking" | "waiting" | "failed" | "all">("asking");
  const near = useRef(new Map<number, Sheet>()).current;
  useEffect(() => () => viewer.close(), [viewer]);
  useEffect(() => {
    if (state !== "asking") return;
    viewer.pageSize("", sizes.length + 1).then((size) => {
      setSizes((all) => [...all, size]);
      setState("waiting");
    }, (e: unknown) => setState((e as { status?: number }).status === 404 ? "all" : "failed"));
  }, [state]);
  const show = (page: number, sheet: Sheet | null) => {
    if (sheet) near.set(page, sheet);
    else near.delete(page);
    viewer.want([...near.values()]);
    if (sheet && page === sizes.length) setState((s) => (s === "waiting" ? "asking" : s));
  };
  return (
    <section class="sealedpages" aria-label={t("thumbnails")}>
      {sizes.map((size, i) => <SealedPage key={i} page={i + 1} size={size} t={t} show={show} />)}
      {state === "asking" && sizes.length === 0 && <div class="sealedpage" style={{ aspectRatio: "595 / 842" }} />}
      {state === "asking" && <p class="quiet small" role="status">{t("pageLoading", { page: sizes.length + 1 })}</p>}
      {state === "failed" && <div class="notice bad" role="alert"><p>{t("pageFailed")}</p><button type="button" class="small" onClick={() => setState("asking")}>{t("tryAgain")}</button></div>}
    </section>
  );
}

function SealedPage({ page, size, t, show }: { page: number; size: Size; t: Translate; show: (page: number, sheet: Sheet | null) => void }) {
  const holder = useRef<HTMLDivElement>(null);
  const [scale, setScale] = useState(1);
  const [failed, setFailed] = useState(false);
  const [tries, setTries] = useState(0);
  const latest = useRef(show);
  latest.current = show;
  const name = t("onPages", { n: 1, pages: String(page) });
  useEffect(() => {
    const box = holder.current!;
    const sheet: Sheet = { documentId: "", page, holder: box, width: size.width, alt: name, onDrawn: () => undefined, onFailed: () => setFailed(true) };
    const watch = new IntersectionObserver(([entry]) => latest.current(page, entry!.isIntersecting ? sheet : null), { rootMargin: "100% 0px" });
    const measure = new ResizeObserver(() => setScale(box.clientWidth / size.width));
    watch.observe(box);
    measure.observe(box);
    return () => {
      watch.disconnect();
      measure.disconnect();
    };
  }, [tries]);
  return (
    <div class="sealedpage" role="group" aria-label={name} style={{ "--k": String(scale), aspectRatio: `${size.width} / ${size.height}` }}>
      <div ref={holder} class="paint" dir="ltr" />
      {failed && <div class="notice bad" role="alert"><p>{t("pageFailed")}</p><button type="button" class="small" onClick={() => { setFailed(false); setTries(tries + 1); }}>{t("tryAgain")}</button></div>}
    </div>
  );
}
