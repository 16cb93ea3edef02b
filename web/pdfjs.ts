import type { Plugin } from "vite";

/**
 * Leaves out of pdf.js what the pages never use: it draws pages and their text, and no more. The published files are one
 * module each, whose parts are marked with a comment that names the file it was made from.
 */

/** What is left out of a file, and what stands in for names that are still mentioned. */
interface Cut { without: RegExp; instead: string; exports?: string }

const cuts: Record<string, Cut> = {
  // Forms and annotations are drawn by the worker; nothing here edits them, and files come by fetch.
  "pdf.mjs": {
    without: /^src\/(display\/(annotation_layer|canvas_dependency_tracker|draw_layer|network|node_stream|svg_factory|touch_manager|xfa_layer|xfa_text|editor\/.*)|shared\/scripting_utils)\.js$/,
    instead: `class AnnotationEditor {}
class CanvasDependencyTracker {}
class CanvasNestedDependencyTracker {}
class PDFNetworkStream {}
class PDFNodeStream {}
class XfaLayer {}
class XfaText {}
const Dependencies = {};
`,
    exports: "export { getDocument, GlobalWorkerOptions, OPS, TextLayer };\n",
  },
  // XFA forms are not drawn (enableXfa is off): such a file shows the page that it has for viewers without XFA.
  "pdf.worker.mjs": {
    without: /^src\/core\/(xfa\/.*|xfa_fonts|calibri_factors|helvetica_factors|liberationsans_widths|myriadpro_factors|segoeui_factors)\.js$/,
    instead: `class XFAFactory { static getRichTextAsHtml() { return null; } }
const getXfaFontName = () => null;
const getXfaFontDict = () => null;
`,
  },
};

const mark = /^(?=;\/\/ \.\/)/m;

/** Cuts one of the files. It throws an error if the file does not have the expected form. */
export function cutPdfJs(name: string, code: string): string {
  const cut = cuts[name];
  if (!cut) throw new Error(`${name} is not a file of pdf.js that is cut`);
  const [head = "", ...parts] = code.split(mark);
  const from = (part: string) => /^;\/\/ \.\/(\S+)/.exec(part)?.[1] ?? "";
  const kept = parts.filter((part) => !cut.without.test(from(part)));
  const last = kept.at(-1) ?? "";
  if (kept.length === parts.length || !from(last).startsWith("src/pdf")) throw new Error(`${name} has other parts than the version that this was written for`);
  if (cut.exports) kept[kept.length - 1] = cut.exports;
  return [head, cut.instead, ...kept].join("");
}

export function smallPdfJs(): Plugin {
  return {
    name: "small-pdfjs",
    enforce: "pre",
    transform(code, id) {
      const name = /\/pdfjs-dist\/(?:legacy\/)?build\/(pdf(?:\.worker)?\.mjs)$/.exec(id)?.[1];
      return name ? { code: cutPdfJs(name, code), map: null } : null;
    },
  };
}
