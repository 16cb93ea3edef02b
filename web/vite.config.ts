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

export default defineConfig({
  appType: "mpa",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: ["es2022", "safari16", "chrome105", "firefox110"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
    rollupOptions: {
      input: Object.fromEntries(["sign", "embed", "build", "download", "verify", "console", "home", "missing", "docs"].map((name) => [name, `${name}.html`])),
    },
  },
  plugins: [compressed()],
});
