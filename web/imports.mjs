// Reports import cycles between the modules of the pages, including imports of types and dynamic imports. "npm run
// check" runs it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";

const root = join(import.meta.dirname, "src");

/** Returns the module of the pages to which an import refers, or null for a package or a style sheet. */
function resolved(from, name) {
  if (!name.startsWith(".")) return null;
  const path = join(dirname(from), name);
  return [`${path}.ts`, `${path}.tsx`].find((file) => existsSync(file)) ?? null;
}

const modules = readdirSync(root, { recursive: true }).map((name) => join(root, name)).filter((file) => /\.tsx?$/.test(file));
const imports = new Map(modules.map((file) => [
  file, ts.preProcessFile(readFileSync(file, "utf8"), true, true).importedFiles.map((i) => resolved(file, i.fileName)).filter((to) => to !== null),
]));

const circles = new Set();
const done = new Set();

function follow(file, path) {
  const at = path.indexOf(file);
  if (at >= 0) {
    const circle = path.slice(at).map((f) => relative(root, f));
    // The same cycle is found from each of its modules. It is reported once, beginning with the first name in
    // alphabetical order.
    const first = circle.indexOf([...circle].sort()[0]);
    circles.add([...circle.slice(first), ...circle.slice(0, first), circle[first]].join(" -> "));
    return;
  }
  if (done.has(file)) return;
  for (const to of imports.get(file) ?? []) follow(to, [...path, file]);
  done.add(file);
}

for (const file of modules) follow(file, []);
if (modules.length < 20) throw new Error(`only ${modules.length} modules were found below ${root}`);
for (const circle of circles) console.error(`modules import each other: ${circle}`);
process.exitCode = circles.size ? 1 : 0;
