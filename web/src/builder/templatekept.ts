/** An edited template in the browser's storage. */
import type { TemplateTexts } from "./editor";
import { newest, objectsAt, Shared } from "./history";
import type { BuilderField, DraftDocument, Recipient } from "./model";

/** The edited part of a template. */
export interface Content {
  readonly signers: readonly Recipient[];
  readonly copies: readonly Recipient[];
  readonly documents: readonly DraftDocument[];
  readonly fields: readonly BuilderField[];
  readonly texts: TemplateTexts;
}

interface State {
  /** The version of the template on which the content is based. */
  etag: string;
  /** The content of that version. */
  saved: Content;
  content: Content;
  past: Content[];
  future: Content[];
}

/** The member lost contains the names of the documents that could not be stored. */
export interface KeptTemplate extends State { lost: string[] }

type Numbers = Record<keyof Content, number[]>;

const idsOf = (c: Content): Set<string> => new Set(c.documents.map((d) => d.id));

/**
 * Returns the stored form of a template's state, with at most the given number of steps in each direction. It excludes
 * files that the service does not have.
 */
export function writeTemplate({ etag, saved, content, past, future }: State, steps: number): object {
  const shared = new Shared();
  const write = (c: Content): Numbers => ({ signers: shared.put(c.signers), copies: shared.put(c.copies), documents: shared.put(c.documents), fields: shared.put(c.fields), texts: shared.put([c.texts]) });
  const ids = idsOf(saved);
  const entries = (list: readonly Content[]) => newest(list, steps, (c) => c.documents.every((d) => ids.has(d.id))).map(write);
  return { etag, saved: write(saved), content: write(content), past: entries(past), future: entries(future), objects: shared.objects };
}

/** Returns the state from its stored form. Throws an error if the form is invalid. */
export function readTemplate(kept: Record<string, unknown>): KeptTemplate {
  const { etag, saved, content, past, future, objects } = kept as unknown as { etag: string; saved: Numbers; content: Numbers; past: Numbers[]; future: Numbers[]; objects: unknown[] };
  const read = (c: Numbers): Content => ({
    signers: objectsAt<Recipient>(objects, c.signers), copies: objectsAt<Recipient>(objects, c.copies), documents: objectsAt<DraftDocument>(objects, c.documents),
    fields: objectsAt<BuilderField>(objects, c.fields), texts: objectsAt<TemplateTexts>(objects, c.texts)[0]!,
  });
  const [base, now] = [read(saved), read(content)];
  const ids = idsOf(base);
  const lost = now.documents.filter((d) => !ids.has(d.id)).map((d) => d.name);
  return {
    etag, saved: base, lost, past: past.map(read), future: future.map(read),
    content: lost.length === 0 ? now : { ...now, documents: now.documents.filter((d) => ids.has(d.id)), fields: now.fields.filter((f) => ids.has(f.documentId)) },
  };
}
