// The API reference. Scalar's browser build displays the documents of the contract. The build is copied from its
// package, so none of the package's dependencies is installed (package-lock.json lists the package without
// dependencies). vite.config.ts replaces the parts that cannot be configured.
import bundle from "../../node_modules/@scalar/api-reference/dist/browser/standalone.js?url";

declare global {
  interface Window {
    Scalar?: { createApiReference(element: string, configuration: Record<string, unknown>): unknown };
  }
}

/**
 * Samples are displayed for curl, Go, JavaScript and Python. The value true hides all clients for a language, and a
 * list hides the listed clients.
 */
const hidden = {
  c: true, clojure: true, csharp: true, dart: true, fsharp: true, http: true, java: true, julia: true, kotlin: true, node: true, objc: true, ocaml: true,
  php: true, powershell: true, r: true, ruby: true, rust: true, swift: true,
  shell: ["httpie", "wget"], js: ["axios", "jquery", "ofetch", "xhr"], python: ["aiohttp", "httpx_async", "httpx_sync", "python3"],
};

/** Nothing is loaded from other hosts. There are no remote fonts, and no proxy, telemetry or assistant. */
const configuration = {
  sources: [
    { title: "Countersign API", slug: "api", url: "/openapi.yaml", default: true },
    { title: "Console sign-in and accounts", slug: "console", url: "/console.yaml" },
  ],
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  documentDownloadType: "direct",
  modelsSectionLabel: "Schemas",
  orderSchemaPropertiesBy: "preserve",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  hiddenClients: hidden,
  authentication: { preferredSecurityScheme: "oauth2" },
  // Some operations are a few pixels wider than a phone. The statuses of a response scroll next to its controls. A
  // section that is the target of a link accepts no keyboard input and has no outline.
  customCss: "#app { overflow-x: clip; } .section:focus { outline: none; } .response-card .scalar-card-header-tabs > :first-child { overflow-x: auto; scrollbar-width: none; } .response-card .scalar-card-header-tabs > :last-child { flex-shrink: 0; margin-left: 12px; } :root { --scalar-font: system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif; --scalar-font-code: ui-monospace, 'SF Mono', Menlo, 'Noto Sans Mono', monospace; }",
};

const script = document.createElement("script");
script.src = bundle;
script.onload = () => window.Scalar?.createApiReference("#app", configuration);
document.head.append(script);
