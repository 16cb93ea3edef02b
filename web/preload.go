package web

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// tokenPath matches the path of a signing link. The token contains only characters that are safe in a header and in
// another path.
var tokenPath = regexp.MustCompile(`^/sign/([A-Za-z0-9_.-]+)$`)

// setPreloads adds headers for the resources that the signing page requests first, which are the signer's context and
// the page's messages. The browser requests them at the same time as the scripts, which saves two round trips on a slow
// phone. A program that only reads the page, such as a mail server's scanner, requests neither of them. Therefore, only
// a browser causes the link to be recorded as opened.
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

// languageFiles returns the file with the messages of the pages, by language. English is part of the scripts.
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

// preferredLanguage returns the first language in an Accept-Language header that the pages support, or English if
// there is none. The page's script chooses in the same way from the browser's list, which has the same order.
func preferredLanguage(header string) string {
	const most = 20 // maximum number of languages
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
