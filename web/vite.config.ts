import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const dist = "dist";

/**
 * Writes compressed copies next to every file that compression makes smaller, so that the server does not need to
 * compress them.
 */
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
          // At the highest quality, compressing the API reference takes ten seconds.
          const quality = content.length > 2 ** 20 ? 9 : constants.BROTLI_MAX_QUALITY;
          writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
          writeFileSync(`${path}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }));
        }
      },
    },
  };
}

/** The replacements in Scalar's build, for parts that cannot be configured. */
const scalarChanges = [
  // The introduction lists the languages of this API's samples.
  ["[`shell/curl`,`ruby/native`,`node/undici`,`php/guzzle`,`python/python3`]", "[`shell/curl`,`js/fetch`,`go/native`,`python/requests`]"],
  // An operation with handwritten samples displays the sample in the selected language instead of a generated one.
  ["if(t){let e=n(t);if(e)return e}return r||", "if(t){let l=t.split(`/`)[0],e=n(`custom/`+(l===`js`?`javascript`:l))??n(t);if(e)return e}return r||"],
  // The operation offers no other samples, and the selected language stays selected where samples are generated.
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
 * Returns the name of the chunk for a module that several pages share. Otherwise, Rollup would create ten small files.
 * Over HTTP/1.1, a browser sends six requests at a time. The signing page needs exactly six before it can display
 * anything, including the signer's context. Any further file would cost a phone another round trip.
 */
function sharedChunk(id: string): string | undefined {
  return /node_modules\/preact\/|preload-helper|\/src\/ui\/(base\.css|digits|http|i18n|locales|memo|parts|start|theme)\b|\/locales\/(languages|en\/pages)\.json|\/src\/(pages\/|sign\/(Look|model|conditions|formats)\b)/.test(id) ? "base" : undefined;
}

export default defineConfig({
  appType: "mpa",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: ["es2022", "safari16", "chrome105", "firefox110"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
    manifest: "manifest.json", // contains the language files for the server
    rollupOptions: {
      output: { manualChunks: sharedChunk },
      input: Object.fromEntries(["sign", "embed", "preview", "build", "download", "unsubscribe", "verify", "console", "home", "missing", "docs"].map((name) => [name, `${name}.html`])),
    },
  },
  plugins: [changedReference(), compressed()],
});
