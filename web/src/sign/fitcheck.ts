import { useEffect, useRef } from "preact/hooks";
import type { Translate } from "../ui/i18n";
import type { Client } from "./client";
import type { FieldErrors } from "./formats";
import { isFixed, isWritten, type Field, type Values } from "./model";

/** The pause in typing after which the service checks the text, in milliseconds. */
const pause = 500;
/** The maximum number of values to check in one request, because the size of the body is limited. */
const mostChecks = 5;

/**
 * Checks with the service, while the signer types, whether text would be illegibly small when sealed, and rejects such
 * text.
 */
export function useFitCheck(client: Client, fields: readonly Field[] | null, values: Values, t: Translate, onMisfits: (misfits: FieldErrors) => void): void {
  const checked = useRef(new Map<string, string>());
  useEffect(() => {
    const open = (fields ?? []).filter((f) => isWritten(f.type) && f.type !== "select" && !isFixed(f) && values[f.id]?.trim() && checked.current.get(f.id) !== values[f.id]);
    if (open.length === 0) return;
    let stale = false;
    const timer = setTimeout(() => {
      const asked = open.slice(0, mostChecks).map((f) => ({ fieldId: f.id, textValue: values[f.id]! })).filter((f) => [...f.textValue].length <= 2000);
      if (asked.length === 0) return;
      client.ask<{ misfits: { fieldId: string; length: number }[] }>("/fit", { body: { fields: asked } }).then(({ misfits }) => {
        if (stale) return;
        for (const f of asked) checked.current.set(f.fieldId, f.textValue);
        if (misfits.length > 0) onMisfits(Object.fromEntries(misfits.map((m) => [m.fieldId, { value: values[m.fieldId]!, message: t("tooLongForField", { n: m.length }) }])));
      }, () => undefined); // signing reports the problem again
    }, pause);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [client, fields, values, t]);
}
