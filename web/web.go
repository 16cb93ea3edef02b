// Package web serves the web pages, which are embedded in the program.
package web

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// The pattern also matches dist.md, so that the program can be built before the pages.
//
//go:embed all:dist*
var files embed.FS

// The pages may load only their own resources.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; " +
	"img-src 'self' data: blob:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// The API reference adds style sheets to its page, and displays a PDF response in a frame.
var docsPolicy = strings.Replace(policy, "style-src 'self'", "frame-src blob:; style-src 'self' 'unsafe-inline'", 1)

const notBuilt = "The pages are not part of this build. Build them with \"npm --prefix web ci && npm --prefix web run build\", then build the program again.\n"

// The console displays the preview of a signing page in a frame.
var (
	consolePolicy = strings.Replace(policy, "form-action", "frame-src 'self'; form-action", 1)
	previewPolicy = strings.Replace(policy, "frame-ancestors 'none'", "frame-ancestors 'self'", 1)
)

// pages maps the first element of a path to its page. The rest of the path is a token, which the page's script reads.
var pages = map[string]string{
	"": "home.html", "sign": "sign.html", "download": "download.html", "verify": "verify.html", "console": "console.html", "unsubscribe": "unsubscribe.html",
	"preview": "preview.html",
	"embed":   "embed.html", // the API replaces the permitted frame ancestors
}

// Handler returns a handler that serves the pages and their assets. Framing is forbidden, except for the preview in
// the service's own pages.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if strings.HasPrefix(r.URL.Path, "/embed/build/") {
			servePage(w, r, http.StatusOK, "build.html") // the API replaces the permitted frame ancestors
			return
		}
		if r.URL.Path == "/docs" {
			servePage(w, r, http.StatusOK, "docs.html")
			return
		}
		switch name, ok := pages[first]; {
		case ok:
			servePage(w, r, http.StatusOK, name)
		case first == "assets":
			// The names of these files change with their content.
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			serveFile(w, r, r.URL.Path)
		case r.URL.Path == "/icon.svg", r.URL.Path == "/embed.js":
			w.Header().Set("Cache-Control", "public, max-age=86400")
			if first == "embed.js" {
				w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
			}
			serveFile(w, r, r.URL.Path)
		default:
			servePage(w, r, http.StatusNotFound, "missing.html")
		}
	})
}

func servePage(w http.ResponseWriter, r *http.Request, status int, name string) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	switch name {
	case "docs.html":
		h.Set("Content-Security-Policy", docsPolicy)
	case "console.html":
		h.Set("Content-Security-Policy", consolePolicy)
	case "preview.html":
		h.Set("Content-Security-Policy", previewPolicy)
		h.Set("X-Frame-Options", "SAMEORIGIN")
	}
	h.Set("Cache-Control", "no-store")
	page, err := files.ReadFile("dist/" + name)
	if err != nil {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(notBuilt)) // the client may have disconnected
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	if name == "sign.html" {
		setPreloads(h, r)
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(page)
	}
}

// accepts reports whether an Accept-Encoding header accepts a content coding.
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			q := strings.TrimSpace(params)
			return !strings.HasPrefix(q, "q=0") || strings.Trim(q, "q=0.") != ""
		}
	}
	return false
}

// serveFile serves a file of the build with the best compression that the client accepts.
func serveFile(w http.ResponseWriter, r *http.Request, urlPath string) {
	name := path.Join("dist", path.Clean("/"+urlPath))
	h := w.Header()
	if st, err := fs.Stat(files, name); err != nil || st.IsDir() {
		h.Set("Cache-Control", "no-store")
		http.NotFound(w, r)
		return
	}
	h.Set("Content-Type", contentType(name))
	h.Add("Vary", "Accept-Encoding")
	for _, c := range []struct{ coding, extension string }{{"br", ".br"}, {"gzip", ".gz"}} {
		if !accepts(r.Header.Get("Accept-Encoding"), c.coding) {
			continue
		}
		if _, err := fs.Stat(files, name+c.extension); err == nil {
			h.Set("Content-Encoding", c.coding)
			name += c.extension
			break
		}
	}
	http.ServeFileFS(w, r, files, name) //nolint:gosec // there is nothing outside an embedded file system
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".woff2":
		return "font/woff2"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
