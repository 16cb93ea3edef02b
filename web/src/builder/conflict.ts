/** The differences between the service's draft and the version that this page last saved. */
import { contentOf, same, type Saved } from "./content";
import { typeName, type BuilderField, type Draft, type FieldContent } from "./model";
import { listed, t, type TextKey } from "./texts";

const members: Record<keyof FieldContent, TextKey> = {
  signerId: "memberRecipient", page: "memberPage", documentId: "memberDocument", x: "memberPlace", y: "memberPlace", w: "memberSize", h: "memberSize", type: "memberType", required: "memberRequired", name: "memberName",
  label: "memberLabel", placeholder: "memberHint", defaultValue: "memberDefault", readOnly: "memberWho", fontSize: "memberLooks", align: "memberLooks", maxLength: "memberRules", multiline: "memberRules",
  comb: "memberRules", format: "memberRules", validation: "memberRules", options: "memberChoices", group: "memberChoices", option: "memberChoices", condition: "memberCondition",
};

const named = (f: FieldContent): string => t("fieldOnPage", { field: f.label || f.name || typeName(f.type), page: f.page });

/** Returns the names of the members in which two fields differ. */
function changed(a: FieldContent, b: FieldContent): string {
  const names = Object.keys({ ...a, ...b }) as (keyof FieldContent)[];
  return listed([...new Set(names.filter((n) => !same(a[n], b[n])).map((n) => t(members[n])))]);
}

/** Returns descriptions of another user's additions, changes and removals. */
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

/** A field that was sent, but for which no response was received. The content is null if the field was removed. */
export interface Unanswered { key: string; content: FieldContent | null }

/**
 * Returns the saved fields, including those that this page has saved without receiving the response. The content of
 * such a field matches the page or the sent request.
 */
export function adopt(theirs: Draft["fields"], saved: ReadonlyMap<string, Saved>, fields: readonly BuilderField[], unanswered: readonly Unanswered[]): Map<string, Saved> {
  const out = new Map(saved);
  const keys = new Map([...saved].map(([key, s]) => [s.id, key]));
  const own: Unanswered[] = [...fields.map((f) => ({ key: f.key, content: contentOf(f) })), ...unanswered];
  for (const f of theirs) {
    const content = contentOf(f);
    const known = keys.get(f.id);
    const mine = own.find((o) => (known === undefined ? !out.has(o.key) : o.key === known) && same(o.content, content));
    if (mine) out.set(mine.key, { id: f.id, content });
  }
  const there = new Set(theirs.map((f) => f.id));
  const here = new Set(fields.map((f) => f.key));
  for (const [key, s] of saved) if (!there.has(s.id) && (!here.has(key) || unanswered.some((u) => u.key === key && u.content === null))) out.delete(key);
  return out;
}
