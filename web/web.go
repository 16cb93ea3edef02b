// Package web holds the pages for people, built into the program.
package web

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed pages
var files embed.FS

// The pages may load only what comes with them. Nothing may frame them.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves the pages: the first part of the path names the page, the rest
// is a token that the page's script reads.
func Handler() http.Handler {
	pages, err := fs.Sub(files, "pages")
	if err != nil {
		panic(err) // the files are part of the program
	}
	assets := http.FileServerFS(pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case r.URL.Path == "/":
			http.ServeFileFS(w, r, pages, "home.html")
		case name == "sign" || name == "download" || name == "verify":
			http.ServeFileFS(w, r, pages, name+".html")
		case name == "assets":
			assets.ServeHTTP(w, r)
		default:
			w.WriteHeader(http.StatusNotFound)
			http.ServeFileFS(w, r, pages, "missing.html")
		}
	})
}
