import { useRef, useState } from "preact/hooks";
import type { Contacts } from "../ui/ContactBox";
import type { Editor } from "./editor";
import { colourOf, recipientKinds, type Recipient } from "./model";
import { errorText } from "./parts";
import { RecipientDialog } from "./RecipientDialog";
import { moveBy, moveTo, stepsOf } from "./steps";
import { t } from "./texts";

interface Props {
  editor: Editor;
  recipients: readonly Recipient[];
  copies: readonly Recipient[];
  active: string;
  editable: boolean;
  problems: ReadonlyMap<string, string>;
  onActive: (id: string) => void;
  onMessage: (words: string) => void;
  contacts?: Contacts;
}

/** The position at which a dragged recipient would be dropped, which is in a step or between two steps. */
interface Target { index: number; between: boolean }

/**
 * The recipients by step. Recipients in the same step sign at the same time. In a template, the recipients are roles.
 */
export function Recipients({ editor, recipients, copies, active, editable, problems, onActive, onMessage, contacts }: Props) {
  const [editing, setEditing] = useState<Recipient | "new" | null>(null);
  const [problem, setProblem] = useState("");
  const [target, setTarget] = useState<Target | null>(null);
  const dragged = useRef<Recipient | null>(null);
  const roles = Boolean(editor.texts);
  const steps = stepsOf(recipients);
  const order = async (r: Recipient, edits: ReturnType<typeof moveTo>) => {
    if (edits.size === 0) return;
    setProblem("");
    try {
      await editor.parts.editRecipients(edits);
      onMessage(t("moved", { name: r.name }));
    } catch (e) {
      setProblem(errorText(e));
    }
  };
  const over = (index: number, between: boolean) => (e: DragEvent) => {
    if (!dragged.current) return;
    e.preventDefault();
    e.stopPropagation();
    if (target?.index !== index || target.between !== between) setTarget({ index, between });
  };
  const drop = (index: number, between: boolean) => (e: DragEvent) => {
    const r = dragged.current;
    if (!r) return;
    e.preventDefault();
    e.stopPropagation();
    dragged.current = null;
    setTarget(null);
    void order(r, moveTo(recipients, r, index, between));
  };
  const gap = (index: number) => <div class={`bgap ${target?.between && target.index === index ? "on" : ""}`} aria-hidden="true" onDragOver={over(index, true)} onDrop={drop(index, true)} />;
  return (
    <section aria-labelledby="brecipients" onDragEnd={() => { dragged.current = null; setTarget(null); }}>
      <div class="bhead"><h2 id="brecipients">{t(roles ? "roles" : "recipients")}</h2>{editable && <button type="button" class="bare small" onClick={() => setEditing("new")}>{t("add")}</button>}</div>
      {recipients.length === 0 && <p class="quiet small">{t(roles ? "noRoles" : "noRecipients")}</p>}
      <div class="brecipients" role="radiogroup" aria-label={t("newFieldsFor")}>
        {steps.map((step, i) => (
          <div key={step[0]!.id}>
            {steps.length > 1 && editable && gap(i)}
            <div class={`bstepbox ${steps.length > 1 ? "several" : ""} ${target && !target.between && target.index === i ? "on" : ""}`} onDragOver={over(i, false)} onDrop={drop(i, false)}>
              {steps.length > 1 && <span class="quiet small bstep">{t(step.filter((r) => !r.witnessFor).length > 1 ? "stepTogether" : "step", { step: i + 1 })}</span>}
              {step.map((r) => (
                <div key={r.id} class={`brecipient ${colourOf(recipients, r.id)} ${r.id === active ? "on" : ""} ${r.witnessFor ? "witness" : ""} ${problems.has(r.id) ? "wrong" : ""}`}
                  draggable={editable && !r.witnessFor} onDragStart={(e) => { dragged.current = r; e.dataTransfer?.setData("text/x-recipient", r.id); }}>
                  <button type="button" role="radio" aria-checked={r.id === active} class="bchoose" onClick={() => onActive(r.id)}>
                    <i class="bdot" /><span><strong><bdi>{r.name || t("noName")}</bdi></strong><br /><span class="quiet small"><Detail r={r} recipients={recipients} roles={roles} />{problems.has(r.id) && <strong class="bad-text"> {problems.get(r.id)}</strong>}</span></span>
                  </button>
                  {editable && (
                    <span class="bmini">
                      {!r.witnessFor && (
                        <>
                          <button type="button" aria-label={t("moveEarlier", { name: r.name })} title={t("earlier")} aria-disabled={moveBy(recipients, r, -1).size === 0} onClick={() => void order(r, moveBy(recipients, r, -1))}>↑</button>
                          <button type="button" aria-label={t("moveLater", { name: r.name })} title={t("later")} aria-disabled={moveBy(recipients, r, 1).size === 0} onClick={() => void order(r, moveBy(recipients, r, 1))}>↓</button>
                        </>
                      )}
                      <button type="button" aria-label={t("editName", { name: r.name })} title={t("edit")} onClick={() => setEditing(r)}>⋯</button>
                    </span>
                  )}
                </div>
              ))}
            </div>
          </div>
        ))}
        {steps.length > 0 && recipients.length > 1 && editable && gap(steps.length)}
      </div>
      {copies.length > 0 && (
        <>
          <span class="quiet small bstep">{t(recipientKinds.copy)}</span>
          <ul class="brecipients">{copies.map((r) => <li key={r.id} class="bcopy"><span class="small"><bdi>{r.name}</bdi><br /><span class="quiet"><bdi>{r.email}</bdi></span></span>{editable && <span class="bmini"><button type="button" aria-label={t("editName", { name: r.name })} title={t("edit")} onClick={() => setEditing(r)}>⋯</button></span>}</li>)}</ul>
        </>
      )}
      {problem && <p class="notice bad small" role="alert" dir="auto">{problem}</p>}
      {editing && <RecipientDialog editor={editor} recipient={editing === "new" ? null : editing} recipients={recipients} copies={copies} onMade={onActive} onClose={() => setEditing(null)} contacts={contacts} />}
    </section>
  );
}

function Detail({ r, recipients, roles }: { r: Recipient; recipients: readonly Recipient[]; roles: boolean }) {
  const does = r.witnessFor ? t("witnesses", { name: recipients.find((o) => o.role === r.witnessFor)?.name ?? r.witnessFor }) : roles || (r.kind && r.kind !== "signer") ? t(recipientKinds[r.kind ?? "signer"]) : "";
  return <><bdi>{r.email}</bdi>{r.email && does && " · "}{does}</>;
}
