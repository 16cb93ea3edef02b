import { useEffect, useRef, useState } from "preact/hooks";
import type { Translate } from "../ui/i18n";
import type { ShownPage } from "./report";
import type { VerifyTranslate } from "./words";

interface Props { file: Blob; pages: readonly ShownPage[]; total: number; t: Translate; say: VerifyTranslate }

/**
 * Returns, for each page, the image whose level is closest to 2 dots per point. This resolution is best for the width
 * of a column.
 */
function picturesToShow(pages: readonly ShownPage[]): ShownPage[] {
  const best = new Map<number, ShownPage>();
  for (const p of pages) {
    const b = best.get(p.page);
    if (!b || Math.abs(p.level - 2) < Math.abs(b.level - 2)) best.set(p.page, p);
  }
  return [...best.values()].sort((a, b) => a.page - b.page);
}

/** The pages that were displayed to signers. The service renders them again and compares them with the record. */
export function ShownPages({ file, pages, total, t, say }: Props) {
  return (
    <section class="card">
      <h2>{say("pagesShown")}</h2>
      <p class="small">{say("pagesShownText")}</p>
      <ol class="seen">{picturesToShow(pages).map((p) => <SeenPage key={p.page} file={file} shown={p} total={total} t={t} say={say} />)}</ol>
    </section>
  );
}

type Loaded = { picture: string } | "differs" | "failed" | null;

function SeenPage({ file, shown, total, t, say }: { file: Blob; shown: ShownPage; total: number; t: Translate; say: VerifyTranslate }) {
  const ref = useRef<HTMLLIElement>(null);
  const [loaded, setLoaded] = useState<Loaded>(null);
  const load = async () => {
    setLoaded(null);
    try {
      const res = await fetch(`/v1/verify/pages/${shown.page}?level=${shown.level}`, { method: "POST", body: file, headers: { "Content-Type": "application/pdf" }, cache: "no-store" });
      if (!res.ok) setLoaded(res.status === 422 ? "differs" : "failed");
      else setLoaded({ picture: URL.createObjectURL(await res.blob()) });
    } catch {
      setLoaded("failed");
    }
  };
  useEffect(() => {
    const watch = new IntersectionObserver((seen) => {
      if (!seen.some((s) => s.isIntersecting)) return;
      watch.disconnect();
      void load();
    }, { rootMargin: "300px" });
    watch.observe(ref.current!);
    return () => watch.disconnect();
  }, [file]);
  useEffect(() => () => { if (loaded !== null && typeof loaded === "object") URL.revokeObjectURL(loaded.picture); }, [loaded]);
  const name = t("pageOf", { page: shown.page, count: total });
  return (
    <li ref={ref}>
      {loaded !== null && typeof loaded === "object" && <img src={loaded.picture} alt={name} />}
      {loaded === null && <div class="waiting" role="status">{t("pageLoading", { page: shown.page })}</div>}
      {loaded === "differs" && <p class="notice bad" role="alert">{say("pageDiffers")}</p>}
      {loaded === "failed" && <div class="notice bad" role="alert"><p>{t("pageFailed")}</p><button type="button" class="small" onClick={() => void load()}>{t("tryAgain")}</button></div>}
      <p class="quiet small" aria-hidden="true">{name}</p>
    </li>
  );
}
