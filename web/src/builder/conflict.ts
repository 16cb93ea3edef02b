/** The differences between the service's draft and the version last saved by this page. */
import { contentOf, same, type Saved } from "./content";
import { typeName, type BuilderField, type Draft, type FieldContent } from "./model";
import { listed, t, type TextKey } from "./texts";

const members: Record<keyof FieldContent, TextKey> = {
  signerId: "memberRecipient", page: "memberPage", documentId: "memberDocument", x: "memberPlace", y: "memberPlace", w: "memberSize", h: "memberSize", type: "memberType", required: "memberRequired", name: "memberName",
  label: "memberLabel", placeholder: "memberHint", defaultValue: "memberDefault", readOnly: "memberWho", fontSize: "memberLooks", align: "memberLooks", maxLength: "memberRules", multiline: "memberRules",
  comb: "memberRules", format: "memberRules", validation: "memberRules", options: "memberChoices", group: "memberChoices", option: "memberChoices", condition: "memberCondition",
};

const named = (f: FieldContent): string => t("fieldOnPage", { field: f.label || f.name || typeName(f.type), page: f.page });

/** The members of a field that differ, in words. */
function changed(a: FieldContent, b: FieldContent): string {
  const names = Object.keys({ ...a, ...b }) as (keyof FieldContent)[];
  return listed([...new Set(names.filter((n) => !same(a[n], b[n])).map((n) => t(members[n])))]);
}

/** Returns another person's additions, changes and removals, as texts. */
export function differences(theirs: Draft["fields"], saved: ReadonlyMap<string, Saved>): string[] {
  const known = new Map([...saved.values()].map((s) => [s.id, s.content]));
  const out: string[] = [];
  for (const f of theirs) {
    const was = known.get(f.id);
    if (!was) out.push(t("fieldAdded", { field: named(f) }));
    else if (!same(was, contentOf(f))) out.push(t("fieldChanged", { field: named(f), members: changed(was, contentOf(f)) }));
    known.delete(f.id);
  }
  for (const f of known.values()) out.push(t("fieldRemoved", { field: named(f) }));
  return out;
}

/**
 * Marks as saved the service's fields that equal fields of this page: this page saved them, but the response was lost.
 */
export function adopt(theirs: Draft["fields"], saved: Map<string, Saved>, fields: readonly BuilderField[]): void {
  const ids = new Map([...saved].map(([key, s]) => [s.id, key]));
  const here = new Map(fields.map((f) => [f.key, f]));
  for (const f of theirs) {
    const content = contentOf(f);
    const key = ids.get(f.id) ?? fields.find((o) => !saved.has(o.key) && same(contentOf(o), content))?.key;
    const mine = key === undefined ? undefined : here.get(key);
    if (key !== undefined && mine && same(contentOf(mine), content)) saved.set(key, { id: f.id, content });
  }
  const there = new Set(theirs.map((f) => f.id));
  for (const [key, s] of [...saved]) if (!there.has(s.id) && !here.has(key)) saved.delete(key);
}
