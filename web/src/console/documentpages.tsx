import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Viewer, type Sheet } from "../pages/viewer";
import type { Client, Document, Envelope } from "./api";
import { numeral, t } from "./texts";

interface Holder { put: (sheet: Sheet) => void; drop: (sheet: Sheet) => void }

/** The pages of the documents with the values entered so far, and thumbnails that lead to each page. */
export function DocumentPages({ client, envelope, documents }: { client: Client; envelope: Envelope; documents: readonly Document[] }) {
  const [current, setCurrent] = useState({ documentId: documents[0]?.id ?? "", page: 1 });
  const area = useRef<HTMLDivElement>(null);
  // Each signature adds values to the pages.
  const signed = envelope.signers.filter((s) => s.signedAt).length;
  const sealed = documents[0]?.kind === "sealed";
  const { viewer, large, small } = useMemo(() => {
    const viewer = new Viewer((id, page) => `/v1/envelopes/${envelope.id}/documents/${id}/pages/${page}`, () => ({ Authorization: `Bearer ${client.token ?? ""}` }), false, signed > 0 && !sealed ? "&entries=true" : "");
    const sheets = [new Set<Sheet>(), new Set<Sheet>()] as const;
    const want = () => viewer.want([...sheets[0], ...sheets[1]]);
    const [large, small] = sheets.map((s): Holder => ({ put: (sheet) => { s.add(sheet); want(); }, drop: (sheet) => { s.delete(sheet); want(); } }));
    return { viewer, large: large!, small: small! };
  }, [envelope.id, signed, sealed]);
  useEffect(() => () => viewer.close(), [viewer]);
  const pages = documents.flatMap((d) => Array.from({ length: d.pageCount }, (_, i) => ({ document: d, page: i + 1 })));
  const idOf = (documentId: string, page: number) => `page-${documentId}-${page}`;
  const follow = () => {
    const box = area.current!.getBoundingClientRect();
    const middle = box.top + box.height / 3;
    const sheets = [...area.current!.querySelectorAll<HTMLElement>(".dpage")];
    const atEnd = area.current!.scrollTop > 0 && area.current!.scrollTop + area.current!.clientHeight >= area.current!.scrollHeight - 2;
    const at = atEnd ? sheets.at(-1) : sheets.find((p) => p.getBoundingClientRect().bottom > middle);
    const [documentId, page] = [at?.dataset.document, Number(at?.dataset.page)];
    if (documentId && (documentId !== current.documentId || page !== current.page)) setCurrent({ documentId, page });
  };
  const show = (documentId: string, page: number) => {
    const target = document.getElementById(idOf(documentId, page));
    if (target && area.current) area.current.scrollTo({ top: target.offsetTop - 8, behavior: "smooth" });
  };
  return (
    <section class="card docview" aria-label={t("documents")}>
      {pages.length > 1 && (
        <nav class="dthumbs" aria-label={t("pages")}>
          {pages.map(({ document: d, page }) => (
            <button key={`${d.id}/${page}`} type="button" class="bare" aria-label={documents.length > 1 ? t("pageOf", { name: d.name || t("untitled"), page }) : t("pageNumber", { page })} aria-current={d.id === current.documentId && page === current.page ? "page" : undefined} onClick={() => show(d.id, page)}>
              <PagePicture viewer={viewer} holder={small} documentId={d.id} page={page} /><span class="small">{numeral(page)}</span>
            </button>
          ))}
        </nav>
      )}
      <div class="dpages" ref={area} tabIndex={0} role="region" aria-label={t("pages")} onScroll={follow}>
        {pages.map(({ document: d, page }) => (
          <figure key={`${d.id}/${page}`} id={idOf(d.id, page)} class="dpage" data-document={d.id} data-page={page}>
            {documents.length > 1 && page === 1 && <figcaption class="small quiet"><bdi>{d.name || t("untitled")}</bdi></figcaption>}
            <PagePicture viewer={viewer} holder={large} documentId={d.id} page={page} label={t("pageNumber", { page })} />
          </figure>
        ))}
      </div>
    </section>
  );
}

/** A page image. It is requested while it is near the visible area. */
function PagePicture({ viewer, holder, documentId, page, label }: { viewer: Viewer; holder: Holder; documentId: string; page: number; label?: string }) {
  const ref = useRef<HTMLSpanElement>(null);
  const [size, setSize] = useState({ width: 612, height: 792, known: false });
  const [near, setNear] = useState(false);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((seen) => setNear(seen.at(-1)!.isIntersecting), { rootMargin: "400px" });
    watch.observe(ref.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (near && !size.known) viewer.pageSize(documentId, page).then((s) => setSize({ ...s, known: true }), () => setSize((s) => ({ ...s, known: true })));
  }, [near, viewer]);
  useEffect(() => {
    if (!near || !size.known) return;
    const sheet: Sheet = { documentId, page, holder: ref.current!, width: size.width, onDrawn: () => setFailed(false), onFailed: () => setFailed(true) };
    holder.put(sheet);
    return () => holder.drop(sheet);
  }, [near, size.known, viewer]);
  return (
    <>
      <span ref={ref} class="paint" role={label ? "img" : undefined} aria-label={label} aria-hidden={label ? undefined : true} style={{ "--ratio": String(size.width / size.height), aspectRatio: `${size.width} / ${size.height}` }} />
      {failed && label && <span class="small quiet">{t("pageNotShown")}</span>}
    </>
  );
}
