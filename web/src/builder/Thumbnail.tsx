import { useEffect, useRef, useState } from "preact/hooks";
import type { Sheet, Viewer } from "../pages/viewer";
import { numeral, t } from "./texts";

/** The visible thumbnails. They are rendered after the large pages. */
export interface Thumbnails { put: (sheet: Sheet) => void; drop: (sheet: Sheet) => void }

interface Props { documentId: string; page: number; current: boolean; viewer: Viewer; thumbnails: Thumbnails; onShow: () => void }

/** A thumbnail that links to a page. It is rendered only while it is visible. */
export function Thumbnail({ documentId, page, current, viewer, thumbnails, onShow }: Props) {
  const holder = useRef<HTMLSpanElement>(null);
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((seen) => setNear(seen.at(-1)!.isIntersecting), { rootMargin: "60px" });
    watch.observe(holder.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (near && !size) viewer.pageSize(documentId, page).then(setSize, () => undefined);
  }, [near]);
  useEffect(() => {
    if (!near || !size) return;
    const sheet: Sheet = { documentId, page, holder: holder.current!, width: size.width, onDrawn: () => undefined, onFailed: () => undefined };
    thumbnails.put(sheet);
    return () => thumbnails.drop(sheet);
  }, [near, size]);
  const { width, height } = size ?? { width: 612, height: 792 };
  return (
    <button type="button" class={`bthumb ${current ? "on" : ""}`} aria-label={t("pageNumber", { page })} aria-current={current ? "page" : undefined} onClick={onShow}>
      <span ref={holder} class="bthumbpage" style={{ "--ratio": String(width / height), aspectRatio: `${width} / ${height}` }} aria-hidden="true" /><span class="small" aria-hidden="true">{numeral(page)}</span>
    </button>
  );
}
