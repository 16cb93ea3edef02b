package web

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// tokenPath is the path of a signing link. Its token is safe in a header and in another path.
var tokenPath = regexp.MustCompile(`^/sign/([A-Za-z0-9_.-]+)$`)

// setPreloads names what the signing page requests first: the context of the signer, and the texts of the page. The
// browser requests them beside the scripts, which saves a slow phone two round trips. A program that only reads the
// page, such as the scanner of a mail server, requests neither: a link is opened by a browser.
func setPreloads(h http.Header, r *http.Request) {
	m := tokenPath.FindStringSubmatch(r.URL.Path)
	if m == nil {
		return
	}
	language := preferredLanguage(r.Header.Get("Accept-Language"))
	h.Add("Link", "</v1/signing/"+m[1]+"?language="+language+">; rel=preload; as=fetch; crossorigin")
	if file := languageFiles()[language]; file != "" {
		h.Add("Link", "</"+file+">; rel=modulepreload; crossorigin")
	}
}

// languageFiles returns the file with the texts of the pages, by language; English is part of the scripts.
var languageFiles = sync.OnceValue(func() map[string]string {
	out := map[string]string{"en": ""}
	b, err := files.ReadFile("dist/manifest.json")
	if err != nil {
		return out
	}
	var built map[string]struct {
		File string `json:"file"`
	}
	if json.Unmarshal(b, &built) != nil {
		return out
	}
	for source, chunk := range built {
		rest, ok := strings.CutSuffix(source, "/pages.json")
		if i := strings.LastIndexByte(rest, '/'); ok && strings.HasSuffix(rest[:i+1], "locales/") {
			out[rest[i+1:]] = chunk.File
		}
	}
	return out
})

// preferredLanguage returns the first language of an Accept-Language header that the pages have, as the page's script
// chooses it from the browser's list, which is in the same order; or English.
func preferredLanguage(header string) string {
	const most = 20 // languages
	for i, part := range strings.Split(header, ",") {
		tag, _, _ := strings.Cut(part, ";")
		base, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		if _, ok := languageFiles()[base]; ok {
			return base
		}
		if i >= most {
			break
		}
	}
	return "en"
}
