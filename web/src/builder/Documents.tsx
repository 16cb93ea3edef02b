import { useState } from "preact/hooks";
import type { DraftEditor } from "./draft";
import type { DraftDocument } from "./model";
import { errorText, FormDialog } from "./parts";

interface Props { editor: DraftEditor; documents: readonly DraftDocument[]; editable: boolean; onShow: (d: DraftDocument) => void }

/** The files, in the order in which they are read. */
export function Documents({ editor, documents, editable, onShow }: Props) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState("");
  const [editing, setEditing] = useState<DraftDocument | null>(null);
  const [over, setOver] = useState(false);
  const run = async (what: string, work: () => Promise<unknown>) => {
    setProblem("");
    setBusy(what);
    try {
      await work();
    } catch (e) {
      setProblem(errorText(e));
    } finally {
      setBusy("");
    }
  };
  const add = (files: FileList | null) => run("Adding …", async () => {
    for (const file of files ?? []) {
      const form = new FormData();
      form.append("file", file, file.name);
      await editor.act("POST", "/document", form);
    }
  });
  const move = (d: DraftDocument, to: number) => run("Moving …", () => editor.act("PATCH", `/documents/${d.id}`, { document_order: to }));
  const ordered = [...documents].sort((a, b) => a.document_order - b.document_order);
  return (
    <section aria-labelledby="bdocuments" class={over ? "bdrop" : ""}
      onDragOver={(e) => { if (editable) { e.preventDefault(); setOver(true); } }} onDragLeave={() => setOver(false)}
      onDrop={(e) => { e.preventDefault(); setOver(false); if (editable) void add(e.dataTransfer?.files ?? null); }}>
      <h2 id="bdocuments">Documents</h2>
      <ol class="bdocuments">
        {ordered.map((d, i) => (
          <li key={d.id}>
            <button type="button" class="bdoc" onClick={() => onShow(d)}><bdi>{d.name || "Unnamed"}</bdi> <span class="quiet small">{d.pageCount} {d.pageCount === 1 ? "page" : "pages"}</span></button>
            {editable && (
              <span class="bmini">
                <button type="button" aria-label={`${d.name}: further up`} title="Up" disabled={i === 0} onClick={() => void move(d, ordered[i - 1]!.document_order)}>↑</button>
                <button type="button" aria-label={`${d.name}: further down`} title="Down" disabled={i === ordered.length - 1} onClick={() => void move(d, ordered[i + 1]!.document_order)}>↓</button>
                <button type="button" aria-label={`Edit ${d.name}`} title="Rename or remove" onClick={() => setEditing(d)}>⋯</button>
              </span>
            )}
          </li>
        ))}
      </ol>
      {editable && <label class="badd"><span>{busy || "Add a PDF"}</span><input type="file" accept="application/pdf" multiple class="sr" onChange={(e) => { void add(e.currentTarget.files); e.currentTarget.value = ""; }} /></label>}
      {problem && <p class="notice bad small" role="alert">{problem}</p>}
      {editing && <DocumentDialog editor={editor} document={editing} onClose={() => setEditing(null)} />}
    </section>
  );
}

function DocumentDialog({ editor, document, onClose }: { editor: DraftEditor; document: DraftDocument; onClose: () => void }) {
  const [name, setName] = useState(document.name);
  return (
    <FormDialog title="Document" label="Rename" work={() => editor.act("PATCH", `/documents/${document.id}`, { name })} onClose={onClose}
      extra={<button type="button" class="bare bad-text" onClick={() => void editor.act("DELETE", `/documents/${document.id}`).then(onClose)}>Remove, with its fields</button>}>
      <div><label for="dname">Name</label><input id="dname" data-first required maxLength={255} value={name} onInput={(e) => setName(e.currentTarget.value)} /></div>
    </FormDialog>
  );
}
