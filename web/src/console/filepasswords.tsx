import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isTypeError } from "../ui/documents";
import { maxPdfPassword, passwordHeaders, passwordOf, passwordProblem, setPassword, type PasswordProblem } from "../ui/pdfpassword";
import { t } from "./texts";

interface Problem { file: File; is: PasswordProblem; /** Counts the rejections, each of which moves the focus to the field. */ count: number }

/** The passwords of encrypted PDFs in a form: the files that need one, and a function that uploads a file. */
export interface FilePasswords {
  problems: readonly Problem[];
  upload: <T>(file: File, send: (headers: Record<string, string>) => Promise<T>) => Promise<T>;
}

/**
 * Remembers which files the service has rejected because of their passwords. If a file has another type, the error
 * contains its name.
 */
export function useFilePasswords(): FilePasswords {
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  return {
    problems,
    upload: async (file, send) => {
      try {
        return await send(passwordHeaders(file));
      } catch (e) {
        if (isTypeError(e)) throw new Error(t("notADocument", { name: file.name }));
        const is = passwordProblem(e);
        if (!is) throw e;
        setProblems((old) => [...old.filter((p) => p.file !== file), { file, is, count: (old.find((p) => p.file === file)?.count ?? 0) + 1 }]);
        throw new Error(""); // the field displays the problem, so the form must not repeat it
      }
    },
  };
}

/** A field for the password of each of the files that needs one. */
export function PasswordFields({ files, problems }: { files: readonly File[] } & Pick<FilePasswords, "problems">) {
  return <>{files.map((file, i) => { const p = problems.find((o) => o.file === file); return p && <PasswordField key={i} id={`newfilepassword${i}`} problem={p} />; })}</>;
}

function PasswordField({ id, problem }: { id: string; problem: Problem }) {
  const ref = useRef<HTMLInputElement>(null);
  const [value, setValue] = useState(passwordOf(problem.file));
  const [edited, setEdited] = useState(0); // number of rejections when the field was last edited
  useLayoutEffect(() => { ref.current?.focus(); ref.current?.select(); }, [problem.count]);
  const open = edited < problem.count;
  return (
    <div class="filepassword">
      <label for={id}>{t("passwordOfFile", { name: problem.file.name })}</label>
      <input ref={ref} id={id} type="text" required maxLength={maxPdfPassword} autocomplete="off" autocapitalize="off" spellcheck={false} dir="auto" value={value} aria-invalid={open ? true : undefined} aria-describedby={`${id}-problem`}
        onInput={(e) => { setValue(e.currentTarget.value); setPassword(problem.file, e.currentTarget.value); setEdited(problem.count); }} />
      <p id={`${id}-problem`} class={`small ${open ? "bad-text" : "quiet"}`} role="alert">{t(problem.is === "wrong" && open ? "passwordDoesNotOpen" : "fileIsEncrypted")}</p>
    </div>
  );
}
