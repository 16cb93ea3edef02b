import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const dist = "dist";

/** Lays compressed copies beside every file that shrinks by it, so that the server need not. */
function compressed(): Plugin {
  return {
    name: "compressed",
    closeBundle: {
      order: "post",
      sequential: true,
      handler() {
        for (const entry of readdirSync(dist, { recursive: true })) {
          const path = join(dist, String(entry));
          if (!/\.(html|js|css|svg)$/.test(path) || !statSync(path).isFile()) continue;
          const content = readFileSync(path);
          const quality = content.length > 2 ** 20 ? 9 : constants.BROTLI_MAX_QUALITY; // the best takes ten seconds for the API reference
          writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
          writeFileSync(`${path}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }));
        }
      },
    },
  };
}

/** What is replaced in Scalar's build, since it cannot be configured. */
const scalarChanges = [
  // The introduction lists the languages of our samples.
  ["[`shell/curl`,`ruby/native`,`node/undici`,`php/guzzle`,`python/python3`]", "[`shell/curl`,`js/fetch`,`go/native`,`python/requests`]"],
  // An operation with handwritten samples shows the sample in the selected language instead of a generated one.
  ["if(t){let e=n(t);if(e)return e}return r||", "if(t){let l=t.split(`/`)[0],e=n(`custom/`+(l===`js`?`javascript`:l))??n(t);if(e)return e}return r||"],
  // It offers no others, and the selected language stays selected where samples are generated.
  ["clientKey:`custom`}})},...t]}return t}", "clientKey:`custom`}})}]}return t}"],
  ["if(t?.startsWith(`custom`))return n(t)??r??", "if(t?.startsWith(`custom`))return n(t)??n({\"custom/javascript\":`js/fetch`,\"custom/go\":`go/native`,\"custom/python\":`python/requests`}[t])??r??"],
] as const;

function changedReference(): Plugin {
  return {
    name: "changed-reference",
    generateBundle(_, bundle) {
      const build = Object.values(bundle).find((file) => file.type === "asset" && /standalone.*\.js$/.test(file.fileName));
      if (build?.type !== "asset") throw new Error("the build of the API reference is missing");
      let text = typeof build.source === "string" ? build.source : Buffer.from(build.source).toString("utf8");
      for (const [own, changed] of scalarChanges) {
        const parts = text.split(own);
        if (parts.length !== 2) throw new Error(`the build of the API reference has ${own} ${parts.length - 1} times`);
        text = parts.join(changed);
      }
      build.source = text;
    },
  };
}

/**
 * Names the chunks of what several pages share. Left alone, Rollup makes ten small files of it, and a phone pays for each
 * with a share of a round trip before it shows the first page.
 */
function sharedChunk(id: string): string | undefined {
  if (/node_modules\/preact\/|preload-helper|\/src\/ui\/(base\.css|digits|http|i18n|locales|memo|parts|start|theme)\b|\/locales\/(languages|en\/pages)\.json/.test(id)) return "base";
  if (/\/src\/(pages\/|sign\/(Look|model|conditions|formats)\b)/.test(id)) return "viewer";
  return undefined;
}

export default defineConfig({
  appType: "mpa",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: ["es2022", "safari16", "chrome105", "firefox110"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
    manifest: "manifest.json", // names the files of the languages for the server
    rollupOptions: {
      output: { manualChunks: sharedChunk },
      input: Object.fromEntries(["sign", "embed", "preview", "build", "download", "unsubscribe", "verify", "console", "home", "missing", "docs"].map((name) => [name, `${name}.html`])),
    },
  },
  plugins: [changedReference(), compressed()],
});
