import { useEffect, useRef, useState } from "preact/hooks";
import { levelFor, type Level } from "../pages/viewer";
import type { Translate } from "../ui/i18n";
import { pageSize, type Context, type Doc } from "./model";

/** Fetches the image of a page as it will be sealed with the current entries. */
export type FetchFinished = (documentId: string, page: number, level: Level, signal: AbortSignal) => Promise<Blob>;

interface Props { context: Context; fetchPage: FetchFinished; t: Translate }

/**
 * The pages that contain the signer's fields, as the service will seal them. Each page is requested when it becomes
 * visible.
 */
export function Finished({ context, fetchPage, t }: Props) {
  // Pages are fetched one at a time, because the service creates a trial seal for each.
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const inTurn = useRef<FetchFinished>((...of) => {
    const done = queue.current.then(() => { of[3].throwIfAborted(); return fetchPage(...of); });
    queue.current = done.catch(() => undefined);
    return done;
  }).current;
  const pages = context.documents.flatMap((doc) => [...new Set(context.fields.filter((f) => f.documentId === doc.documentId).map((f) => f.page))].sort((a, b) => a - b).map((page) => ({ doc, page })));
  if (pages.length === 0) return null;
  return (
    <section class="finished" aria-label={t("finishedPages")}>
      <p class="quiet small">{t("finishedPages")}</p>
      {pages.map(({ doc, page }) => <FinishedPage key={`${doc.documentId}/${page}`} doc={doc} page={page} fetchPage={inTurn} t={t} />)}
    </section>
  );
}

function FinishedPage({ doc, page, fetchPage, t }: { doc: Doc; page: number; fetchPage: FetchFinished; t: Translate }) {
  const ref = useRef<HTMLDivElement>(null);
  const [picture, setPicture] = useState("");
  const [failed, setFailed] = useState(false);
  const [tries, setTries] = useState(0);
  const { width, height } = pageSize(doc, page);
  useEffect(() => {
    const stop = new AbortController();
    let address = "";
    const watch = new IntersectionObserver(([entry]) => {
      if (!entry!.isIntersecting) return;
      watch.disconnect();
      fetchPage(doc.documentId, page, levelFor((ref.current!.clientWidth / width) * (window.devicePixelRatio || 1)), stop.signal).then((blob) => {
        if (stop.signal.aborted) return;
        address = URL.createObjectURL(blob);
        setPicture(address);
      }, () => { if (!stop.signal.aborted) setFailed(true); });
    });
    watch.observe(ref.current!);
    return () => {
      watch.disconnect();
      stop.abort();
      if (address) URL.revokeObjectURL(address);
    };
  }, [tries]);
  return (
    <div ref={ref} class="finishedpage" style={{ aspectRatio: `${width} / ${height}` }}>
      {picture ? <img src={picture} alt={t("pageOf", { page, count: doc.pageCount })} draggable={false} />
        : failed ? <div class="failed" role="alert"><p>{t("pageFailed")}</p><button type="button" class="small" onClick={() => { setFailed(false); setTries(tries + 1); }}>{t("tryAgain")}</button></div>
          : <div class="paint" data-loading={t("pageLoading", { page })} />}
    </div>
  );
}
