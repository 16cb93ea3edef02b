import { useEffect, useRef, useState } from "preact/hooks";
import { isSlowNetwork, type Viewer } from "../pages/viewer";
import type { Translate } from "../ui/i18n";
import { memo } from "../ui/memo";
import { Icon } from "../ui/parts";
import { pageKey, pageSize, type Doc } from "./model";

/** The minimum window width at which thumbnails are displayed next to the documents. */
const wide = matchMedia("(min-width: 75rem)");

/** Reports whether thumbnails are displayed. */
export function useThumbs(): boolean {
  const [shown, setShown] = useState(wide.matches);
  useEffect(() => {
    const change = () => setShown(wide.matches);
    wide.addEventListener("change", change);
    return () => wide.removeEventListener("change", change);
  }, []);
  return shown;
}

interface Props {
  documents: readonly Doc[];
  viewer: Viewer;
  read: ReadonlySet<string>;
  /** The page that is currently in view. */
  current: string | null;
  /** The scale of the main pages, in CSS pixels per point. */
  scale: number;
  t: Translate;
  onGo: (key: string) => void;
}

/** Thumbnails of all pages of all documents. Each leads to its page. */
export function Thumbs({ documents, viewer, read, current, scale, t, onGo }: Props) {
  const rail = useRef<HTMLElement>(null);
  const go = useRef(onGo);
  go.current = onGo;
  const leave = useRef((key: string) => go.current(key)).current;
  useEffect(() => {
    const [box, at] = [rail.current!, current && document.getElementById(`t-${current}`)];
    if (!at) return;
    const [outer, inner] = [box.getBoundingClientRect(), at.getBoundingClientRect()];
    if (inner.top < outer.top) box.scrollTop += inner.top - outer.top - 8;
    else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + 8;
  }, [current]);
  return (
    <nav ref={rail} class="thumbs noprint" aria-label={t("thumbnails")}>
      {documents.map((doc) => (
        <ol key={doc.documentId} aria-label={doc.name}>
          {Array.from({ length: doc.pageCount }, (_, i) => {
            const key = pageKey(doc.documentId, i + 1);
            return <Thumb key={key} doc={doc} page={i + 1} viewer={viewer} isRead={read.has(key)} isCurrent={key === current} scale={scale} t={t} onGo={leave} />;
          })}
        </ol>
      ))}
    </nav>
  );
}

interface ThumbProps { doc: Doc; page: number; viewer: Viewer; isRead: boolean; isCurrent: boolean; scale: number; t: Translate; onGo: (key: string) => void }

const Thumb = memo(function Thumb({ doc, page, viewer, isRead, isCurrent, scale, t, onGo }: ThumbProps) {
  const ref = useRef<HTMLCanvasElement>(null);
  const { width, height } = pageSize(doc, page);
  const key = pageKey(doc.documentId, page);
  // The image is requested when the thumbnail becomes visible, and is stored at the size of the thumbnail.
  useEffect(() => {
    const canvas = ref.current!;
    let stop: AbortController | null = null;
    const watch = new IntersectionObserver(([entry]) => {
      if (!entry!.isIntersecting) return stop?.abort();
      if (isSlowNetwork() || (stop && !stop.signal.aborted)) return;
      stop = new AbortController();
      viewer.spare({ documentId: doc.documentId, page }, scale, stop.signal).then((picture) => {
        const dense = window.devicePixelRatio || 1;
        [canvas.width, canvas.height] = [Math.round(canvas.clientWidth * dense), Math.round(canvas.clientHeight * dense)];
        const pen = canvas.getContext("2d")!;
        pen.imageSmoothingQuality = "high";
        pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
        watch.disconnect();
      }, () => { stop?.abort(); });
    });
    watch.observe(canvas);
    return () => {
      watch.disconnect();
      stop?.abort();
    };
  }, []);
  return (
    <li>
      <button type="button" class="bare thumb" id={`t-${key}`} aria-current={isCurrent ? "true" : undefined} aria-label={`${t("pageOf", { page, count: doc.pageCount })}${isRead ? `, ${t("pageIsRead")}` : ""}`} onClick={() => onGo(key)}>
        <canvas ref={ref} style={{ aspectRatio: `${width} / ${height}` }} />
        <span class="small" aria-hidden="true">{page}{isRead && <Icon name="check" size={14} />}</span>
      </button>
    </li>
  );
}, (a, b) => a.isRead === b.isRead && a.isCurrent === b.isCurrent && a.t === b.t && a.doc === b.doc);
