import { useEffect, useMemo, useState } from "preact/hooks";
import { visibleFields } from "../sign/conditions";
import { today, withSigningDate } from "../sign/model";
import { Dialog } from "../ui/parts";
import { describe, typeName, type BuilderField, type Recipient } from "./model";
import { t } from "./texts";

interface Props {
  recipients: readonly Recipient[];
  fields: readonly BuilderField[];
  /**
   * Returns the URL of the preview of a recipient's signing page, if this page may display it in a frame. The console
   * may do so for a draft.
   */
  framed?: (recipient: string) => string;
  onClose: () => void;
}

/**
 * A dialog with the preview for one recipient. It contains the actual signing page if that page can be framed, and the
 * recipient's fields otherwise.
 */
export function Preview({ recipients, fields, framed, onClose }: Props) {
  const [who, setWho] = useState(recipients[0]?.id ?? "");
  const [wide, setWide] = useState(false);
  const name = recipients.find((r) => r.id === who)?.name ?? "";
  useEffect(() => {
    const closed = (e: MessageEvent) => { if (e.origin === location.origin && e.data === "preview.closed") onClose(); };
    addEventListener("message", closed);
    return () => removeEventListener("message", closed);
  }, []);
  return (
    <Dialog label={t("preview")} onClose={onClose}>
      <div class="bpreview">
        <div class="row">
          <h2 tabIndex={-1}>{t("preview")}</h2>
          <select aria-label={t("previewAs")} value={who} onChange={(e) => setWho(e.currentTarget.value)}>{recipients.map((r) => <option key={r.id} value={r.id}>{t("asWho", { name: r.name })}</option>)}</select>
          <select class="bwidth" aria-label={t("screenWidth")} value={wide ? "wide" : "phone"} onChange={(e) => setWide(e.currentTarget.value === "wide")}><option value="phone">{t("onPhone")}</option><option value="wide">{t("onDesktop")}</option></select>
          {framed && <button type="button" class="plain small bclose" onClick={onClose}>{t("close")}</button>}
        </div>
        {framed
          ? <><p class="quiet small">{t("previewHint", { name })}</p><iframe key={who} class={`bsigning ${wide ? "wide" : ""}`} title={`${t("preview")}: ${t("asWho", { name })}`} src={framed(who)} /></>
          : <Fields who={who} wide={wide} recipients={recipients} fields={fields} />}
        {!framed && <div class="row end"><button type="button" onClick={onClose}>{t("backToFields")}</button></div>}
      </div>
    </Dialog>
  );
}

/**
 * The fields of one recipient in order. Their conditions are in effect, so entering a value can show or hide other
 * fields.
 */
function Fields({ who, wide, recipients, fields }: Pick<Props, "recipients" | "fields"> & { who: string; wide: boolean }) {
  const [entered, setEntered] = useState<Record<string, string>>({});
  const orderOf = (id: string) => recipients.find((r) => r.id === id)?.routingOrder ?? 0;
  const mine = useMemo(() => fields.filter((f) => f.signerId === who).sort((a, b) => a.page - b.page || a.y - b.y || a.x - b.x), [fields, who]);
  const earlier = Object.fromEntries(fields.filter((f) => orderOf(f.signerId) < orderOf(who)).flatMap((f) => {
    const name = f.type === "radio" ? f.group : f.name;
    const value = f.type === "signed_date" ? today() : entered[f.key] ?? f.defaultValue ?? "";
    return name ? [[name, f.type === "radio" ? (value === "true" ? f.option ?? "" : "") : value] as const] : [];
  }).filter(([, v]) => v !== ""));
  const values = Object.fromEntries(mine.map((f) => [f.key, entered[f.key] ?? f.defaultValue ?? ""]));
  const asked = mine.map((f) => ({ ...f, id: f.key }));
  const shown = visibleFields(asked, withSigningDate(asked, values), earlier);
  const enter = (f: BuilderField, value: string) => {
    const rest = f.type === "radio" && value ? Object.fromEntries(mine.filter((o) => o.group === f.group).map((o) => [o.key, ""])) : {};
    setEntered({ ...entered, ...rest, [f.key]: value });
  };
  return (
    <>
      <div class={`bscreen ${wide ? "wide" : ""}`}>
        {mine.length === 0 && <p class="quiet">{t("nothingToFill")}</p>}
        {mine.map((f) => shown.has(f.key) ? (
          <div key={f.key} class="bask">
            <label for={`v-${f.key}`}>{f.required ? describe(f) : t("optionalField", { field: describe(f) })} <span class="quiet small">{t("onPage", { page: f.page })}</span></label>
            {f.type === "checkbox" || f.type === "radio" ? <input id={`v-${f.key}`} type="checkbox" checked={values[f.key] === "true"} disabled={f.readOnly} onChange={(e) => enter(f, e.currentTarget.checked ? "true" : "")} />
              : f.type === "select" ? <select id={`v-${f.key}`} value={values[f.key]} disabled={f.readOnly} onChange={(e) => enter(f, e.currentTarget.value)}><option value="" />{(f.options ?? []).map((o) => <option key={o} value={o}>{o}</option>)}</select>
                : ["signature", "initial", "stamp", "attachment", "signed_date"].includes(f.type) ? <p id={`v-${f.key}`} class="bstand">{typeName(f.type)}</p>
                  : <input id={`v-${f.key}`} type={f.type === "email" ? "email" : f.type === "number" ? "text" : "text"} inputMode={f.type === "number" ? "decimal" : undefined} placeholder={f.placeholder} readOnly={f.readOnly} value={values[f.key]} onInput={(e) => enter(f, e.currentTarget.value)} />}
          </div>
        ) : null)}
      </div>
      <p class="quiet small" role="status">{t("fieldsShown", { shown: shown.size, n: mine.length })}</p>
    </>
  );
}
