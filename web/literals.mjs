// Reports words that the builder or the console displays although they are not in its catalog (locales/*/builder.json,
// console.json), and messages that are never displayed. "npm run check" runs it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** Attributes whose value users read or hear, including those of the builder's own components. */
const shown = new Set(["title", "alt", "placeholder", "aria-label", "aria-description", "aria-roledescription", "aria-valuetext", "label", "listLabel", "text"]);
/**
 * Permitted literals: a placeholder that is a value in API format, a telephone number, the name of the program, or a
 * part of a column name.
 */
const values = new Set(["true", "+44 20 7946 0958", "Countersign", "value."]);

const letters = (text) => /\p{L}/u.test(text);
/** Matches a sentence, a phrase, or a word that begins like a sentence. */
const reads = (text) => /\p{L}{2,}[,.:]? \p{L}/u.test(text) || /^\p{Lu}\p{Ll}{2,}[^\p{L}]*$/u.test(text);
/** Other strings that match: header names and values, types of dragged data, and an internal error. */
const technical = new Set(["Authorization", "Bearer ", "Files", "too long to be kept"]);

const textOf = (n) => (ts.isStringLiteral(n) || ts.isNoSubstitutionTemplateLiteral(n) || ts.isTemplateHead(n) || ts.isTemplateMiddle(n) || ts.isTemplateTail(n) || ts.isJsxText(n) ? n.text : null);

/** An element whose child is a status from the API. The element displays the status in words. */
const isBadge = (n) => ts.isJsxElement(n) && n.openingElement.tagName.getText() === "Badge";

/**
 * Returns the attribute whose value the expression becomes, "child" if the expression becomes a child of an element, or
 * "selector" if it is compared or selects something. Returns null if it is an argument or has any other use.
 */
function roleOf(node) {
  for (let n = node; n.parent; n = n.parent) {
    const p = n.parent;
    if (ts.isJsxAttribute(p)) return p.name.getText();
    if (isBadge(p)) return "selector";
    if ((ts.isJsxExpression(p) && !ts.isJsxAttribute(p.parent) && !isBadge(p.parent)) || (ts.isJsxElement(p) && !isBadge(p))) return "child";
    if (ts.isCallExpression(p) && p.expression !== n) return /\.(closest|matches|querySelector(All)?)$/.test(p.expression.getText()) ? "selector" : null;
    if (ts.isPropertyAccessExpression(p) || ts.isElementAccessExpression(p) || ts.isFunctionLike(p) || ts.isPropertyAssignment(p)) return null;
    if (ts.isBinaryExpression(p) && /^(===|!==|==|!=|in)$/.test(p.operatorToken.getText())) return "compared";
  }
  return null;
}

/** Returns the literals of a module that users would read. */
function literalsOf(name, source) {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true, name.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
  const found = [];
  const visit = (n) => {
    if (ts.isImportDeclaration(n) || ts.isTypeNode(n)) return;
    const text = textOf(n);
    if (text !== null && !values.has(text)) {
      const role = roleOf(n);
      const bad = role === "child" || shown.has(role) ? letters(text) : role === null && reads(text) && !technical.has(text);
      if (bad) found.push(`${name}:${file.getLineAndCharacterOfPosition(n.getStart()).line + 1}: ${JSON.stringify(text.trim())}`);
    }
    ts.forEachChild(n, visit);
  };
  visit(file);
  return found;
}

// Examples that the check must report, and examples that it must not report.
const wrong = ['<p>Hello</p>', '<p>{on ? "yes" : t("no")}</p>', '<p>{`${n} fields`}</p>', '<i title="Close" />', '<i aria-label={on ? `Edit ${name}` : ""} />', 'throw new Error("Not now.")', 'const words = { saved: "Saved" }', 'setTold("not there yet")', '<D other={{ label: "Remove it" }} />'];
const right = ['<p>{t("hello")}</p>', '<p class="big small">·</p>', '<i title={t(on ? "a" : "b")} />', 'if (state === "Saved") go("change", "x")', '<p>{kind === "signer" && t("kindSigner")}</p>', '<option value="Left">{t("left")}</option>', 'fetch(path, { method: "POST" })', '<Badge>failed</Badge>', '<Badge>{on ? "Active" : w.reason || "Paused"}</Badge>'];
for (const source of wrong) if (literalsOf("wrong.tsx", source).length !== 1) throw new Error(`the check overlooks ${source}`);
for (const source of right) if (literalsOf("right.tsx", source).length !== 0) throw new Error(`the check takes ${source} for words`);

let faults = 0;
const complain = (text) => { console.error(text); faults++; };
for (const part of ["builder", "console"]) {
  const folder = join(import.meta.dirname, "src", part);
  const modules = readdirSync(folder).filter((name) => /\.tsx?$/.test(name) && !name.includes(".test.")).map((name) => [name, readFileSync(join(folder, name), "utf8")]);
  if (modules.length < 20) throw new Error(`only ${modules.length} modules were found in ${folder}`);
  for (const [name, source] of modules) {
    const literals = literalsOf(name, source);
    for (const one of literals) complain(`not among the texts of the ${part}: ${one}`);
  }
  const all = [...modules.map(([, source]) => source), readFileSync(join(import.meta.dirname, "src", "ui", "parts.tsx"), "utf8")].join("\n");
  for (const key of Object.keys(JSON.parse(readFileSync(join(import.meta.dirname, "..", "locales", "en", `${part}.json`), "utf8")))) {
    if (!all.includes(`"${key}"`)) complain(`a text of the ${part} that nothing shows: ${key}`);
  }
}
process.exitCode = faults ? 1 : 0;
