import type { Viewer } from "../pages/viewer";
import type { PageLines } from "./pagelines";
import { piecesOf, type PieceOfText } from "./pagetext";

interface PageContent { texts: readonly PieceOfText[]; lines: PageLines }

interface Job { run: () => Promise<void> }

const read = new WeakMap<Viewer, Map<string, Promise<PageContent>>>();
const waiting: Job[] = [];
let busy = false;

async function work(): Promise<void> {
  if (busy) return;
  busy = true;
  // The most recently requested page comes first.
  for (let job = waiting.pop(); job; job = waiting.pop()) await job.run();
  busy = false;
}

/**
 * Returns the text and the lines of a page. Each page is read only once. Only one page is read at a time, so that pages
 * can be rendered between two reads.
 */
export function pageContent(viewer: Viewer, documentId: string, page: number): Promise<PageContent> {
  let pages = read.get(viewer);
  if (!pages) read.set(viewer, pages = new Map());
  const key = `${documentId}/${page}`;
  let found = pages.get(key);
  if (!found) {
    found = new Promise<PageContent>((resolve, reject) => {
      waiting.push({
        run: async () => {
          try {
            const [text, lines] = await Promise.all([viewer.text(documentId, page), viewer.lines<PageLines>(documentId, page)]);
            resolve({ texts: piecesOf(text), lines });
          } catch (e) {
            pages.delete(key);
            reject(e as Error);
          }
        },
      });
    });
    pages.set(key, found);
    void work();
  }
  return found;
}
