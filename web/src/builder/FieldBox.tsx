import { memo } from "../ui/memo";
import type { Box, Handle } from "./geometry";
import { describe, typeName, type BuilderField } from "./model";
import { t } from "./texts";

/** The events of a field, which its page handles. */
export interface FieldEvents {
  begin: (e: PointerEvent, f: BuilderField, handle: Handle | null) => void;
  step: (e: PointerEvent) => void;
  end: (e: PointerEvent, f: BuilderField) => void;
  cancel: () => void;
  /** A click without a pointer, such as from assistive technology. */
  press: (f: BuilderField) => void;
  focus: (e: FocusEvent, f: BuilderField) => void;
  key: (e: KeyboardEvent, f: BuilderField) => void;
}

interface Props {
  f: BuilderField;
  /** The displayed box, which differs from the field's own box while the field is being moved. */
  box: Box;
  scale: number;
  on: boolean;
  /** Whether the field is the only selected one and can therefore be resized. */
  alone: boolean;
  who: string | undefined;
  colour: string;
  problem: string | undefined;
  events: FieldEvents;
}

const target = 24; // in CSS pixels; the minimum target size (WCAG 2.5.8)

/**
 * Returns the handles that fit. If the member out is true, the handle is farther from the center, because the field is
 * small.
 */
function handlesFor(w: number, h: number): { handle: Handle; out: boolean }[] {
  const [wide, tall] = [w >= target * 1.6, h >= target * 1.6];
  const at = (...names: Handle[]) => names.map((handle) => ({ handle, out: false }));
  if (!wide && !tall) return [{ handle: "se", out: true }];
  if (wide && !tall) return [...at("w", "e"), { handle: "s", out: true }];
  if (!wide && tall) return [...at("n", "s"), { handle: "e", out: true }];
  return [...at("nw", "ne", "sw", "se"), ...(w >= target * 3 ? at("n", "s") : []), ...(h >= target * 3 ? at("w", "e") : [])];
}

export const place = (b: Box, scale: number) => ({ left: `${b.x * scale}px`, top: `${b.y * scale}px`, width: `${b.w * scale}px`, height: `${b.h * scale}px` });

/** A field on its page. It is rendered again only when its own properties change. */
export const FieldBox = memo(function FieldBox({ f, box, scale, on, alone, who, colour, problem, events }: Props) {
  const [w, h] = [box.w * scale, box.h * scale];
  const label = t(f.required ? "requiredFieldAt" : "fieldAt", { field: describe(f), type: typeName(f.type), name: who ?? t("nobody"), page: f.page });
  return (
    <div id={`field-${f.key}`} role="button" tabIndex={0} aria-pressed={on}
      aria-label={problem ? t("fieldWrong", { field: label, problem }) : label}
      class={`bfield ${colour} ${on ? "on" : ""} ${problem ? "wrong" : ""} ${f.required ? "" : "optional"} t-${f.type}`} style={place(box, scale)}
      onPointerDown={(e) => events.begin(e, f, null)} onPointerMove={events.step} onPointerUp={(e) => events.end(e, f)} onPointerCancel={events.cancel}
      onClick={(e) => { if (e.detail === 0) events.press(f); }} onFocus={(e) => events.focus(e, f)} onKeyDown={(e) => events.key(e, f)}>
      <span class="bname">{h >= 11 && w >= 24 ? f.label || typeName(f.type) : ""}</span>
      {alone && handlesFor(w, h).map(({ handle, out }) => (
        <span key={handle} class={`bhandle ${handle} ${out ? "out" : ""}`} onPointerDown={(e) => events.begin(e, f, handle)} />
      ))}
    </div>
  );
});
