import { useRef, useState } from "preact/hooks";
import type { Viewer } from "../pages/viewer";
import { documentTypes, isDocument, isTypeError } from "../ui/documents";
import { maxPdfPassword, passwordProblem, setPassword } from "../ui/pdfpassword";
import type { Editor } from "./editor";
import type { DraftDocument } from "./model";
import { errorText, FormDialog } from "./parts";
import { t } from "./texts";
import { Thumbnail, type Thumbnails } from "./Thumbnail";

interface Props { editor: Editor; documents: readonly DraftDocument[]; editable: boolean; viewer: Viewer; thumbnails: Thumbnails; current: { documentId: string; page: number }; onShow: (documentId: string, page: number) => void; onMessage: (words: string) => void }

/** The documents in reading order, with their pages. */
export function Documents({ editor, documents, editable, viewer, thumbnails, current, onShow, onMessage }: Props) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState("");
  const [editing, setEditing] = useState<DraftDocument | null>(null);
  const [over, setOver] = useState<number | "file" | null>(null);
  const [encrypted, setEncrypted] = useState<readonly File[]>([]);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const dragged = useRef<DraftDocument | null>(null);
  const run = async (what: string, work: () => Promise<unknown>, done: string) => {
    setProblem("");
    setBusy(what);
    try {
      if ((await work()) !== false) onMessage(done);
    } catch (e) {
      setProblem(errorText(e));
    } finally {
      setBusy("");
    }
  };
  const add = (list: FileList | null) => run(t("adding"), async () => {
    const files = [...(list ?? [])];
    const wrong = files.find((f) => !isDocument(f));
    if (wrong) throw new Error(t("notADocument", { name: wrong.name }));
    let added = 0;
    for (const file of files) {
      try {
        await editor.parts.addDocument(file);
        added++;
      } catch (e) {
        if (isTypeError(e)) throw new Error(t("notADocument", { name: file.name }));
        if (!passwordProblem(e)) throw e;
        setEncrypted((old) => [...old, file]); // a dialog asks for the password
      }
    }
    return added > 0;
  }, t("added"));
  const move = (d: DraftDocument, to: number) => run(t("moving"), () => editor.parts.moveDocument(d.id, to), t("moved", { name: d.name }));
  const ordered = [...documents].sort((a, b) => a.document_order - b.document_order);
  const drop = (e: DragEvent, i: number | null) => {
    e.preventDefault();
    e.stopPropagation();
    const d = dragged.current;
    dragged.current = null;
    setOver(null);
    if (!editable) return;
    if (!d) void add(e.dataTransfer?.files ?? null);
    else if (i !== null && ordered[i]!.id !== d.id) void move(d, i);
  };
  return (
    <section aria-labelledby="bdocuments" class={over === "file" ? "bdrop" : ""}
      onDragOver={(e) => { if (editable && e.dataTransfer?.types.includes("Files")) { e.preventDefault(); setOver("file"); } }} onDragLeave={() => setOver(null)} onDragEnd={() => { dragged.current = null; setOver(null); }}
      onDrop={(e) => drop(e, null)}>
      <h2 id="bdocuments">{t("documents")}</h2>
      <ol class="bdocuments">
        {ordered.map((d, i) => (
          <li key={d.id} class={over === i ? "on" : ""} draggable={editable && ordered.length > 1} onDragStart={(e) => { dragged.current = d; e.dataTransfer?.setData("text/x-document", d.id); }}
            onDragOver={(e) => { if (dragged.current) { e.preventDefault(); e.stopPropagation(); setOver(i); } }} onDrop={(e) => drop(e, i)}>
            <div class="bdocline">
              <button type="button" class="bdoc" onClick={() => onShow(d.id, 1)}><bdi>{d.name || t("unnamed")}</bdi> <span class="quiet small">{t("pageCount", { n: d.pageCount })}</span></button>
              {editable && (
                <span class="bmini">
                  <button type="button" aria-label={t("moveUp", { name: d.name })} title={t("up")} disabled={i === 0} onClick={() => void move(d, i - 1)}>↑</button>
                  <button type="button" aria-label={t("moveDown", { name: d.name })} title={t("down")} disabled={i === ordered.length - 1} onClick={() => void move(d, i + 1)}>↓</button>
                  <button type="button" aria-label={t("editName", { name: d.name })} title={t("renameOrRemove")} onClick={() => setEditing(d)}>⋯</button>
                </span>
              )}
            </div>
            <button type="button" class="bare small bpagesbutton" aria-expanded={opened.has(d.id)} aria-label={t(opened.has(d.id) ? "hidePagesOf" : "showPagesOf", { name: d.name })}
              onClick={() => setOpened((old) => { const next = new Set(old); if (!next.delete(d.id)) next.add(d.id); return next; })}>{t(opened.has(d.id) ? "hidePages" : "showPages")}</button>
            {opened.has(d.id) && (
              <ol class="bthumbs" aria-label={t("pagesOf", { name: d.name })}>
                {Array.from({ length: d.pageCount }, (_, p) => p + 1).map((page) => (
                  <li key={page}><Thumbnail documentId={d.id} page={page} current={current.documentId === d.id && current.page === page} viewer={viewer} thumbnails={thumbnails} onShow={() => onShow(d.id, page)} /></li>
                ))}
              </ol>
            )}
          </li>
        ))}
      </ol>
      {editable && <label class="badd"><span>{busy || t("addDocument")}</span><input type="file" accept={documentTypes} multiple class="sr" onChange={(e) => { void add(e.currentTarget.files); e.currentTarget.value = ""; }} /></label>}
      {problem && <p class="notice bad small" role="alert" dir="auto">{problem}</p>}
      {encrypted[0] && <PasswordDialog key={encrypted.length} file={encrypted[0]} work={async () => { await editor.parts.addDocument(encrypted[0]!); onMessage(t("added")); }} onClose={() => setEncrypted((old) => old.slice(1))} />}
      {editing && <DocumentDialog editor={editor} document={editing} onClose={() => setEditing(null)} />}
    </section>
  );
}

function DocumentDialog({ editor, document, onClose }: { editor: Editor; document: DraftDocument; onClose: () => void }) {
  const [name, setName] = useState(document.name);
  return (
    <FormDialog title={t("document")} label={t("rename")} work={() => editor.parts.renameDocument(document.id, name)} onClose={onClose}
      other={{ label: t("removeDocument"), work: () => editor.parts.removeDocument(document.id) }}>
      <div><label for="dname">{t("name")}</label><input id="dname" data-first required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
    </FormDialog>
  );
}

/** Asks for the password of an encrypted PDF, and uploads the file with it. */
function PasswordDialog({ file, work, onClose }: { file: File; work: () => Promise<unknown>; onClose: () => void }) {
  const [password, setValue] = useState("");
  return (
    <FormDialog title={t("encryptedPDF")} label={t("addDocument")} work={() => { setPassword(file, password); return work(); }} onClose={onClose}>
      <div>
        <label for="dpassword">{t("passwordOfFile", { name: file.name })}</label>
        <input id="dpassword" data-first type="text" required maxLength={maxPdfPassword} autocomplete="off" autocapitalize="off" spellcheck={false} dir="auto" value={password} aria-describedby="dpassword-hint" onInput={(e) => setValue(e.currentTarget.value)} />
        <p id="dpassword-hint" class="small quiet">{t("fileIsEncrypted")}</p>
      </div>
    </FormDialog>
  );
}
