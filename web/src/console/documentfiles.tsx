import { useLayoutEffect, useRef } from "preact/hooks";
import { documentTypes, isDocument } from "../ui/documents";
import { PasswordFields, type FilePasswords } from "./filepasswords";
import { t } from "./texts";

/** The input for the files of a new envelope or template, and the passwords of those that are encrypted. */
export function DocumentFiles({ files, problems, onTake }: { files: readonly File[]; onTake: (files: readonly File[]) => void } & Pick<FilePasswords, "problems">) {
  const ref = useRef<HTMLInputElement>(null);
  const wrong = files.find((f) => !isDocument(f));
  const problem = wrong ? t("notADocument", { name: wrong.name }) : "";
  useLayoutEffect(() => ref.current?.setCustomValidity(problem), [problem]);
  const drop = (e: DragEvent) => {
    e.preventDefault();
    const dropped = e.dataTransfer?.files;
    if (!dropped?.length) return;
    ref.current!.files = dropped; // the input displays the selection
    onTake([...dropped]);
  };
  return (
    <div onDragOver={(e) => e.preventDefault()} onDrop={drop}>
      <label for="newfiles">{t("dropDocuments")}</label>
      <input ref={ref} id="newfiles" data-first type="file" accept={documentTypes} multiple required={files.length === 0} aria-invalid={problem ? true : undefined} aria-describedby="newfiles-problem newfiles-hint" onChange={(e) => onTake([...(e.currentTarget.files ?? [])])} />
      {problem && <p id="newfiles-problem" class="small bad-text" role="alert" dir="auto">{problem}</p>}
      <p id="newfiles-hint" class="quiet small">{files.length > 1 ? files.map((f) => f.name).join(", ") : t("documentTypes")}</p>
      <PasswordFields files={files} problems={problems} />
    </div>
  );
}
