package browser_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // required to modify the service's record

	"countersign/locales"
	"countersign/seal/verify"
)

// annotated adds the objects of a comment to a file in the same way as PDF viewers: a new annotation and a new version
// of the page.
func annotated(t *testing.T, file []byte) []byte {
	t.Helper()
	starts := regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF`).FindAllSubmatch(file, -1)
	require.NotEmpty(t, starts)
	size := regexp.MustCompile(`/Size (\d+)`).FindAllSubmatch(file, -1)
	root := regexp.MustCompile(`/Root (\d+ \d+ R)`).FindAllSubmatch(file, -1)
	var n int
	_, err := fmt.Sscan(string(size[len(size)-1][1]), &n)
	require.NoError(t, err)
	var out bytes.Buffer
	out.Write(file)
	at := out.Len()
	fmt.Fprintf(&out, "%d 0 obj\n<< /Type /Annot /Subtype /Text /Rect [10 10 40 40] /Contents (I disagree) >>\nendobj\n", n)
	xref := out.Len()
	fmt.Fprintf(&out, "xref\n%d 1\n%010d 00000 n \ntrailer\n<< /Size %d /Root %s /Prev %s >>\nstartxref\n%d\n%%%%EOF\n", n, at, n+1, root[len(root)-1][1], starts[len(starts)-1][1], xref)
	return out.Bytes()
}

func TestVerify(t *testing.T) {
	t.Parallel()
	e, sealed := svc.signedByAPI(t, "verify@example.com")
	b := open(t, desktop)
	b.visit(svc.base + "/verify")
	b.see("Verify a document")
	b.checked("verify")
	b.choose("#file", "lease.pdf", sealed)
	b.see("Genuine and unchanged")
	b.see("You can rely on this document.")
	b.see("Grace Hopper")
	b.see("identified only by the link")
	b.see("This is exactly the file that this service stores for this envelope.")
	b.see("Sent for signature")
	b.see("the service's certificate.")
	b.titled("Genuine and unchanged – lease.pdf")
	require.NotContains(t, b.text(), "envelope.sent", "events must be shown as text")
	require.NotContains(t, b.text(), "did not show this person the pages")
	require.NotContains(t, eval[string](b, `performance.getEntriesByType("resource").map((r) => r.name).join(" ")`), "pdf", "the page must not parse PDFs itself")
	b.checked("verify-valid")
	b.see("Pages as the signers saw them")
	eval[bool](b, `(document.querySelector(".seen").scrollIntoView({ block: "center", behavior: "instant" }), true)`)
	b.until(`document.querySelector(".seen img")?.naturalWidth === 1190`)
	b.checked("verify-pages")
	b.click(`document.querySelector(".people details summary")`)
	b.see("Grace")
	b.pictures("verify-valid-entered")

	// The service's own record is also compared.
	db, err := sql.Open("sqlite", filepath.Join(svc.data, "countersign.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	record := func(kind, hash string) (before string) {
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT sha256 FROM documents WHERE envelope_id = ? AND kind = ?", e.ID, kind).Scan(&before))
		_, err := db.ExecContext(t.Context(), "UPDATE documents SET sha256 = ? WHERE envelope_id = ? AND kind = ?", hash, e.ID, kind)
		require.NoError(t, err)
		return before
	}
	again := func(name string, content []byte) {
		b.button("Verify another document")
		b.see("Drop a sealed PDF here")
		b.choose("#file", name, content)
	}
	was := record("sealed", strings.Repeat("0", 64))
	again("lease.pdf", sealed)
	b.see("Genuine and unchanged")
	b.see("but the stored file has other time-stamps")
	record("sealed", was)
	was = record("original", strings.Repeat("0", 64))
	again("lease.pdf", sealed)
	b.see("Changed after sealing")
	b.see("This service has a different record of this envelope.")
	record("original", was)

	again("lease.pdf", bytes.Replace(sealed, []byte("The rent is 940"), []byte("The rent is 140"), 1))
	b.see("Changed after sealing")
	b.see("Do not rely on this file.")
	require.NotContains(t, b.text(), "Grace Hopper", "claims of a broken file must not be shown")
	require.Equal(t, "failed", eval[string](b, `document.querySelector(".checks li").className`), "failures are listed first")
	b.checked("verify-broken")

	again("plain.pdf", leaseDocument())
	b.see("Not sealed by this service")
	b.checked("verify-not-sealed")
	b.waitUntilStill()
}

// TestVerifyPage_DescribesEachKindOfRecipient checks that each action is described correctly. For example, an approver
// has not signed, and the link for an in-person signer was sent to the host.
func TestVerifyPage_DescribesEachKindOfRecipient(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Parts", []object{
		{"name": "Ann", "email": "part-ann@example.com", "authMethod": "none", "kind": "approver"},
		{"name": "Ines", "email": "part-ines@example.com", "authMethod": "none", "kind": "in_person", "host": object{"name": "Hugo", "email": "part-hugo@example.com"}},
	}, []object{{"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20}}, leaseDocument())
	ann := signingPath(e.Signers[0].SigningURL)
	svc.signerPosts(t, ann+"/consent", object{})
	svc.signerPosts(t, ann+"/sign", object{"fields": []object{}})
	svc.signs(t, signingPath(e.Signers[1].SigningURL))
	b := open(t, desktop)
	b.visit(svc.base + "/verify")
	b.see("Verify a document")
	b.choose("#file", "parts.pdf", svc.completed(t, e.ID))
	b.see("Genuine and unchanged")
	person := func(i int) string {
		return eval[string](b, fmt.Sprintf(`document.querySelectorAll(".people > li")[%d].innerText`, i))
	}
	require.Contains(t, person(0), "Approver · ")
	require.Contains(t, person(0), "Agreed to respond electronically")
	require.NotContains(t, person(0), "Signed")
	require.Regexp(t, `Signed in person, on a device handed over by .?Hugo.? \(.?part-hugo@example.com.?\)`, person(1))
	require.NotContains(t, person(1), "the link sent to this address")
	for i := range 2 {
		require.Contains(t, person(i), "This service did not show this person the pages", "both signed without being shown images")
	}
	require.Equal(t, 1, eval[int](b, `[...document.querySelectorAll(".chain li > span:first-of-type")].filter((x) => x.textContent === "Signed").length`))
	b.checked("verify-parts")
	b.waitUntilStill()
}

// TestVerifyAltered checks that an altered file is never displayed as valid, and that the sealed part can be extracted
// from it.
func TestVerifyAltered(t *testing.T) {
	t.Parallel()
	_, sealed := svc.signedByAPI(t, "altered@example.com")
	b := open(t, device{width: 390, height: 844, touch: true, dark: true})
	b.visit(svc.base + "/verify")
	b.see("Verify a document")
	b.choose("#file", "lease.pdf", annotated(t, sealed))
	b.see("Something was added after sealing")
	require.NotContains(t, b.text(), "Grace Hopper")
	require.False(t, eval[bool](b, `document.querySelector(".sealmark").classList.contains("good")`))
	require.Equal(t, "failed", eval[string](b, `document.querySelector(".checks li").className`))
	b.checked("verify-altered")
	b.button("Save the sealed document")
	b.see("Genuine and unchanged")
	b.see("Grace Hopper")
	b.see("This is exactly the file that this service stores")
	b.waitUntilStill()
}

func TestVerifyForeign(t *testing.T) {
	t.Parallel()
	other, err := startService(t.TempDir(), "127.0.0.1")
	require.NoError(t, err)
	defer other.stop()
	_, foreign := other.signedByAPI(t, "foreign@example.com")
	p := open(t, device{width: 390, height: 844, touch: true, dark: true})
	p.visit(svc.base + "/verify")
	p.see("Verify a document")
	p.choose("#file", "foreign.pdf", foreign)
	p.see("Unchanged, but sealed by an unknown party")
	p.see("Signers, according to the file")
	require.False(t, eval[bool](p, `document.querySelector(".sealmark").classList.contains("good")`))
	p.checked("verify-foreign")
	p.waitUntilStill()
}

// TestVerifyInEveryLanguage checks that the page is complete in each language, and no wider than a phone screen.
func TestVerifyInEveryLanguage(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Languages", []object{{"name": "Grace Hopper", "email": "languages@example.com", "authMethod": "none"}},
		[]object{{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20}}, leaseDocument())
	svc.signs(t, signingPath(e.Signers[0].SigningURL)) // without page images
	sealed := svc.completed(t, e.ID)
	b := open(t, device{width: 390, height: 844, touch: true})
	b.visit(svc.base + "/verify")
	b.see("Verify a document")
	b.choose("#file", "lease.pdf", sealed)
	b.see("Genuine and unchanged")
	for _, language := range locales.Tags() {
		text, err := locales.Text(language, "verification.json")
		require.NoError(t, err)
		var words map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &words))
		title := words["valid"].(string)
		b.choice(".languages", language)
		b.see(title)
		b.see(words["notShown"].(string))
		b.accessible()
		shown := eval[string](b, `[...document.querySelectorAll("h1, h2, .checks, .people p, .chain span:not([dir])")].map((x) => x.textContent).join("\n")`)
		require.NotRegexp(t, `\{[a-z]+\}`, shown, language)
		if language != locales.Default {
			require.NotContains(t, shown, "Certificate", language)
		}
		b.shot("verify-valid-" + language)
	}
	b.waitUntilStill()
}

// TestVerifyPage_HasATextForEveryFinding checks that the page has a sentence for each code in a report.
func TestVerifyPage_HasATextForEveryFinding(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(svc.root, "web", "src", "verify", "words.ts"))
	require.NoError(t, err)
	page := string(raw)
	for _, code := range verify.Codes() {
		require.Contains(t, page, fmt.Sprintf("%q: ", code), "web/src/verify/words.ts must contain a text for each code")
		check, _, _ := strings.Cut(string(code), ".")
		require.Regexp(t, `(?s)export const checks.*\b`+check+`: "`, page)
	}
}
