/**
 * Determines which fields are visible. The service has an equivalent function, and the tests of both use
 * models/testdata/conditions.json.
 */

export interface Clause { field: string; is?: string; isNot?: string; filled?: boolean }
export interface Condition { all?: Clause[]; any?: Clause[] }
interface ConditionField { id: string; name?: string; type: string; group?: string; option?: string; condition?: Condition | null }

/**
 * Returns the IDs of the visible fields of one signer. The argument entered is a map of values by field ID: text,
 * "true" for a checked box or option, or any nonempty string for an image or file. The argument earlier is a map of the
 * values of earlier signers by field name. A hidden field counts as empty.
 */
export function visibleFields(fields: readonly ConditionField[], entered: Readonly<Record<string, string>>, earlier: Readonly<Record<string, string>>): Set<string> {
  const byName = new Map<string, ConditionField[]>();
  for (const f of fields) {
    const name = (f.type === "radio" ? f.group : f.name) ?? "";
    byName.set(name, [...(byName.get(name) ?? []), f]);
  }
  const known = new Map<string, boolean>();
  const visible = (f: ConditionField): boolean => {
    const answer = known.get(f.id);
    if (answer !== undefined) return answer;
    known.set(f.id, false); // ends the recursion for a cycle, which no valid draft contains
    const shown = holds(f.condition);
    known.set(f.id, shown);
    return shown;
  };
  const holds = (c: Condition | null | undefined): boolean => {
    if (!c) return true;
    return c.all?.length ? c.all.every(compare) : (c.any ?? []).some(compare);
  };
  const compare = (c: Clause): boolean => {
    const [value, filled] = valueOf(c.field);
    if (c.is !== undefined) return value === c.is;
    if (c.isNot !== undefined) return value !== c.isNot;
    return c.filled !== undefined && filled === c.filled;
  };
  const valueOf = (name: string): [string, boolean] => {
    const own = byName.get(name);
    if (!own) {
      const value = earlier[name] ?? "";
      return [value, value.trim() !== "" && value !== "false"];
    }
    let empty = "";
    for (const f of own) {
      if (f.type === "checkbox") empty = "false";
      const text = entered[f.id] ?? "";
      if (((f.type === "checkbox" || f.type === "radio") && text !== "true") || !text.trim() || !visible(f)) continue;
      return f.type === "radio" ? [f.option ?? "", true] : [text, true];
    }
    return [empty, false];
  };
  return new Set(fields.filter(visible).map((f) => f.id));
}
