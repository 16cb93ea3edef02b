package admission_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/rejection"
)

// activeCase contains a PDF. The field changes reports whether preparation modifies the PDF.
type activeCase struct {
	file    []byte
	changes bool
}

// TestActiveContent checks each type of action at each possible position, and all other kinds of active content. After
// the option "remove", qpdf must find no active content in the file. The option "refuse" must reject exactly the files
// that "remove" changes. Harmless content must stay unchanged.
func TestActiveContent(t *testing.T) {
	t.Parallel()
	cases, scanned := map[string]activeCase{}, otherActiveContent()
	for action, live := range actions() {
		var all []place
		for name, at := range places() {
			leaves := live || at.automatic && !strings.HasPrefix(action, "/S/GoTo/") && action != "/S/Named/N/NextPage"
			cases[action+" at "+name] = activeCase{fileWith(action, at), leaves}
			if name != "OpenAction, referred to" {
				all = append(all, at)
			}
		}
		leaves := live || !strings.HasPrefix(action, "/S/GoTo/") && action != "/S/Named/N/NextPage"
		scanned[action] = activeCase{fileWith(action, all...), leaves}
	}
	for name, c := range cases {
		c.prepare(t, name)
	}
	dir := t.TempDir()
	for name, c := range scanned {
		prepared := c.prepare(t, name)
		require.Empty(t, scan(t, dir, prepared), name)
		if c.changes && !strings.Contains(name, "usage rights") {
			require.NotEmpty(t, scan(t, dir, c.file), "the scan must find the content at its position: %s", name)
		}
	}
}

// prepare returns the file without active content. It checks that the result is admitted, and that the option "refuse"
// rejects the file if preparation changes it.
func (c activeCase) prepare(t *testing.T, name string) []byte {
	t.Helper()
	admit := func(opt prepare.Options) (*prepare.Revision, error) {
		_, rev, err := admission.AdmitPrepared(t.Context(), bytes.NewReader(c.file), int64(len(c.file)), sha256.Sum256(c.file), admission.DefaultLimits(), opt)
		return rev, err
	}
	rev, err := admit(prepare.Options{})
	require.NoError(t, err, name)
	require.Equal(t, c.changes, rev != nil, name)
	_, err = admit(prepare.Options{ActiveContent: prepare.ActiveReject})
	if !c.changes {
		require.NoError(t, err, name)
		return c.file
	}
	require.NotEmpty(t, rev.Changes, name)
	var r *rejection.Error
	require.ErrorAs(t, err, &r, name)
	require.Contains(t, []string{rejection.PDFActiveContent, rejection.PDFJavaScript, rejection.PDFLaunch, rejection.PDFXFA}, r.Code, name)
	return slices.Concat(c.file, rev.Appended)
}

// actions returns an action of every type in ISO 32000-2, and whether preparation removes it at every position.
func actions() map[string]bool {
	return map[string]bool{
		"/S/GoTo/D[3 0 R/Fit]":                               false,
		"/S/Named/N/NextPage":                                false,
		"/S/Named/N/SaveAs":                                  true,
		"/S/Hide/T(a)":                                       false,
		"/S/SetOCGState/State[]":                             false,
		"/S/ResetForm":                                       false,
		"/S/Trans/Trans<<>>":                                 false,
		"/S/URI/URI(https://example.com/a)":                  false,
		"/S/URI/URI(mailto:ada@example.com)":                 false,
		"/S/URI/URI(javascript:alert\\(1\\))":                true,
		"/S/URI/URI( JavaScript:alert\\(1\\))":               true,
		"/S/URI/URI(java\\nscript:alert\\(1\\))":             true,
		"/S/URI/URI(file:///c:/x.exe)":                       true,
		"/S/URI/URI(\\\\\\\\evil\\\\x)":                      true,
		"/S/URI/URI(x.exe)":                                  true,
		"/S/URI/URI 8 0 R":                                   true,
		"/S/Thread/D 0":                                      false,
		"/S/Thread/D 0/F(//evil/x)":                          true,
		"/S/GoToR/F(//evil/x)/D[0/Fit]":                      true,
		"/S/GoToE/D[0/Fit]/T<</R/C/N(a.pdf)>>":               true,
		"/S/Launch/F(cmd.exe)":                               true,
		"/S/Launch/Win<</F(cmd.exe)>>":                       true,
		"/S/SubmitForm/F(http://evil.example)":               true,
		"/S/ImportData/F(x.fdf)":                             true,
		"/S/JavaScript/JS(a)":                                true,
		"/S/Java#53cript/J#53(a)":                            true,
		"/S 7 0 R/JS(a)":                                     true,
		"/Type/StructElem/S/JavaScript/JS(a)":                true,
		"/S/Rendition/OP 0/R<</S/MR>>":                       true,
		"/S/Rendition/JS(a)":                                 true,
		"/S/Sound/Sound 9 0 R":                               true,
		"/S/Movie/T(a)":                                      true,
		"/S/GoTo3DView/TA 6 0 R/V/F":                         true,
		"/S/RichMediaExecute/TA 6 0 R/CMD<</C(a)>>":          true,
		"/S/GoTo/D[3 0 R/Fit]/Next<</S/Launch/F(a)>>":        true,
		"/S/GoTo/D[3 0 R/Fit]/Next[6 0 R<</S/Launch/F(a)>>]": true,
	}
}

// place is the position of an action, marked by "@" in entries of the catalog, the page or an annotation. If "@" does
// not occur, the action is object 6.
type place struct {
	catalog, page, annotation string

	automatic bool // the action runs without a click; only a jump to a page is kept
}

// places returns every position except additional actions, which are always removed.
func places() map[string]place {
	const link, widget = "<</Type/Annot/Subtype/Link/Rect[0 0 9 9]", "<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/Rect[0 0 9 9]/AP<<>>"
	return map[string]place{
		"OpenAction":              {catalog: "/OpenAction@", automatic: true},
		"OpenAction, referred to": {catalog: "/OpenAction 6 0 R", automatic: true},
		"link":                    {annotation: link + "/A@>>"},
		"link, referred to":       {annotation: link + "/A 6 0 R>>"},
		"link PA":                 {annotation: link + "/PA@>>"},
		"next":                    {annotation: link + "/A<</S/GoTo/D[3 0 R/Fit]/Next@>>>>"},
		"next of next":            {annotation: link + "/A<</S/GoTo/D[3 0 R/Fit]/Next[<</S/Named/N/NextPage/Next[@]>>]>>>>"},
		"outline":                 {catalog: "/Outlines<</First<</Title(a)/A@>>>>"},
		"screen":                  {annotation: "<</Type/Annot/Subtype/Screen/Rect[0 0 9 9]/A@>>"},
		"navigation node":         {page: "/PresSteps<</NA@>>"},
		"field":                   {annotation: widget + "/A@>>"},
	}
}

// fileWith returns a PDF with an action at the given positions.
func fileWith(action string, at ...place) []byte {
	var catalog, page, annotations string
	for _, p := range at {
		catalog, page, annotations = catalog+p.catalog, page+p.page, annotations+p.annotation
	}
	put := func(text string) string { return strings.ReplaceAll(text, "@", "<<"+action+">>") }
	return file(put(catalog), put(page+"/Annots["+annotations+"]"), "<<"+action+">>", "/JavaScript", "(javascript:a)",
		"<</Type/Sound/R 8000/Length 1>>\nstream\n0\nendstream")
}

// otherActiveContent returns active content that is not an action.
func otherActiveContent() map[string]activeCase {
	out := map[string]activeCase{}
	const goTo = "<</S/GoTo/D[3 0 R/Fit]>>"
	add := func(name string, changes bool, catalog, page string, more ...string) {
		out[name] = activeCase{file(catalog, page, more...), changes}
	}
	for name, places := range map[string][2]string{
		"catalog": {"/AA<</WC@>>", ""}, "page": {"", "/AA<</O@>>"}, "annotation": {"", "/Annots[<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/AA<</E@>>>>]"},
		"field": {"/AcroForm<</Fields[<</FT/Tx/T(a)/AA<</C@>>>>]>>", ""},
	} {
		for _, action := range []string{goTo, "<</S/JavaScript/JS(a)>>", "<</S/SubmitForm/F(http://evil.example)>>", "<</S/Rendition/JS(a)>>"} {
			add("AA of "+name+action, true, strings.ReplaceAll(places[0], "@", action), strings.ReplaceAll(places[1], "@", action))
		}
	}
	add("scripts", true, "/Names<</JavaScript<</Names[(a)<</S/JavaScript/JS(a)>>]>>>>", "")
	add("scripts by ref", true, "/Names 6 0 R", "", "<</JavaScript 7 0 R>>", "<</Kids[8 0 R]>>", "<</Limits[(a)(a)]/Names[(a)9 0 R]>>", "<</S/JavaScript/JS(a)>>")
	add("no scripts", true, "/Names<</JavaScript<</Names[]>>>>", "")
	add("renditions", true, "/Names<</Renditions<</Names[(a)<</S/MR/N(a)>>]>>>>", "")
	add("presentations", true, "/Names<</AlternatePresentations<</Names[(a)<</Type/SlideShow>>]>>>>", "")
	add("base address", true, "/URI<</Base(javascript:a)>>", "")
	add("base address of the web", false, "/URI<</Base(https://example.com/)>>", "")
	add("usage rights", true, "/Perms<</UR3<</Type/Sig>>>>", "")
	add("jump to a page at opening", false, "/OpenAction[3 0 R/Fit]", "")
	add("jump to a named place at opening", false, "/OpenAction(here)", "")
	add("jump, then a form is reset", true, "/OpenAction<</S/GoTo/D[3 0 R/Fit]/Next<</S/ResetForm>>>>", "")
	add("printing at opening", true, "/OpenAction<</S/Named/N/Print>>", "")
	add("media", true, "", "/Annots[<</Type/Annot/Subtype/RichMedia/Rect[0 0 9 9]/AP<<>>/RichMediaContent<<>>/RichMediaSettings<<>>>>]")
	add("3D with a script", true, "", "/Annots[<</Type/Annot/Subtype/3D/Rect[0 0 9 9]/AP<<>>/3DD 6 0 R>>]",
		"<</Type/3D/Subtype/U3D/OnInstantiate 7 0 R/Length 1>>\nstream\n0\nendstream", "<</Length 1>>\nstream\n0\nendstream")
	add("movie", true, "", "/Annots[<</Type/Annot/Subtype/Movie/Rect[0 0 9 9]/Movie<</F(//evil/x)>>/A true>>]")
	add("sound", true, "", "/Annots[<</Type/Annot/Subtype/Sound/Rect[0 0 9 9]/AP<<>>/Sound 6 0 R>>]", "<</Type/Sound/R 8000/Length 1>>\nstream\n0\nendstream")
	add("a file elsewhere", true, "", "/Annots[<</Type/Annot/Subtype/FileAttachment/Rect[0 0 9 9]/AP<<>>/FS(//evil/x)>>]")
	for name, program := range map[string]bool{
		"a.exe": true, "A.EXE": true, "a.exe. ": true, "a.pdf.js": true, "macros.docm": true, "a.lnk": true, "a.pdf": false, "a.xml": false, "a.docx": false,
		"a.csv": false, "a": false,
	} {
		add("attached "+name, program, "/Names<</EmbeddedFiles<</Names[(a)6 0 R]>>>>", "", "<</Type/Filespec/F(a.txt)/UF("+name+")/EF<</F 7 0 R>>>>",
			"<</Type/EmbeddedFile/Length 1>>\nstream\n0\nendstream")
	}
	for data, program := range map[string]bool{"MZ\x90": true, "\x7fELF": true, "#!/bin/sh": true, "hello": false} {
		add(fmt.Sprintf("attached bytes %q", data), program, "/Names<</EmbeddedFiles<</Names[(a)6 0 R]>>>>", "", "<</Type/Filespec/F(a.txt)/EF<</F 7 0 R>>>>",
			fmt.Sprintf("<</Type/EmbeddedFile/Length %d>>\nstream\n%s\nendstream", len(data), data))
	}
	add("attached by media type", true, "/AF[6 0 R]", "", "<</Type/Filespec/F(a.txt)/EF<</F 7 0 R>>>>", "<</Type/EmbeddedFile/Subtype/application#2Fx-msdownload/Length 1>>\nstream\n0\nendstream")
	add("attached to the page", true, "", "/Annots[<</Type/Annot/Subtype/FileAttachment/Rect[0 0 9 9]/AP<<>>/FS 6 0 R>>]", "<</Type/Filespec/F(a.exe)/EF<</F 7 0 R>>>>",
		"<</Type/EmbeddedFile/Length 1>>\nstream\n0\nendstream")
	return out
}

// scan returns the active content that is reachable from the trailer of a file, as parsed by qpdf. It does not use
// preparation's own tables.
func scan(t *testing.T, dir string, b []byte) []string {
	t.Helper()
	name := filepath.Join(dir, "scanned.pdf")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	var errors bytes.Buffer
	c := exec.CommandContext(t.Context(), "qpdf", "--json=2", "--json-stream-data=inline", "--decode-level=generalized", "--json-key=qpdf", name)
	c.Stderr = &errors
	out, _ := c.Output() // qpdf reports many irrelevant warnings
	var parsed struct{ QPDF []map[string]any }
	require.NoError(t, json.Unmarshal(out, &parsed), "%s\n%s", errors.String(), b)
	s := scanner{objects: parsed.QPDF[1], seen: map[string]bool{}}
	s.visit(s.objects["trailer"].(map[string]any)["value"], "trailer") //nolint:forcetypeassert // of qpdf
	return s.found
}

type scanner struct {
	objects map[string]any
	seen    map[string]bool
	found   []string
}

var reference = regexp.MustCompile(`^[0-9]+ [0-9]+ R$`)

// value resolves a reference. For a stream, it returns the dictionary.
func (s *scanner) value(v any) any {
	ref, ok := v.(string)
	if !ok || !reference.MatchString(ref) {
		return v
	}
	o, _ := s.objects["obj:"+ref].(map[string]any)
	if stream, ok := o["stream"].(map[string]any); ok {
		return stream["dict"]
	}
	return o["value"]
}

func (s *scanner) text(v any) string {
	text, _ := s.value(v).(string)
	for _, kind := range []string{"u:", "b:", "/"} {
		text = strings.TrimPrefix(text, kind)
	}
	return text
}

func (s *scanner) visit(v any, at string) {
	if ref, ok := v.(string); ok && reference.MatchString(ref) {
		if s.seen[ref+at] {
			return
		}
		s.seen[ref+at] = true
		v = s.value(v)
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v { // the first element of a destination is a page, not an opening action
			s.visit(e, strings.TrimSuffix(at, "/OpenAction"))
		}
	case map[string]any:
		s.dict(v, at)
		for key, e := range v {
			if key != "/Parent" {
				s.visit(e, key)
			}
		}
	}
}

func (s *scanner) dict(d map[string]any, at string) {
	has := func(key string) bool { return s.value(d[key]) != nil }
	live := func(yes bool, what string) {
		if yes {
			s.found = append(s.found, what+" at "+at)
		}
	}
	kind := s.text(d["/S"])
	switch kind {
	case "GoToR", "GoToE", "Launch", "SubmitForm", "ImportData", "JavaScript", "Rendition", "Sound", "Movie", "GoTo3DView", "RichMediaExecute":
		live(true, kind)
	case "Thread":
		live(has("/F"), kind)
	case "Named":
		live(!slices.Contains([]string{"NextPage", "PrevPage", "FirstPage", "LastPage", "Print"}, s.text(d["/N"])), kind)
	case "URI":
		live(!strings.HasPrefix(s.text(d["/URI"]), "https://") && !strings.HasPrefix(s.text(d["/URI"]), "mailto:"), kind)
	}
	live(at == "/OpenAction" && (kind != "GoTo" && (kind != "Named" || s.text(d["/N"]) == "Print") || has("/Next")), "opening "+kind)
	live(has("/AA") || has("/JavaScript") || has("/JS") || has("/Renditions") || has("/AlternatePresentations") || has("/XFA"), "entry")
	live(has("/3DD") || has("/RichMediaContent") || has("/RichMediaSettings") || has("/Movie") || has("/Sound") || has("/OnInstantiate"), "media")
	live(at == "/URI" && strings.Contains(s.text(d["/Base"]), "script:"), "base")
	live(s.text(d["/Subtype"]) == "FileAttachment" && has("/FS") && !strings.HasPrefix(fmt.Sprint(s.value(d["/FS"])), "map"), "file elsewhere")
	if has("/EF") {
		name := strings.TrimRight(strings.ToLower(s.text(d["/UF"])+"|"+s.text(d["/F"])), ". |")
		live(regexp.MustCompile(`\.(exe|js|docm|lnk)[. ]*(\||$)`).MatchString(name), "program")
		files, _ := s.value(d["/EF"]).(map[string]any)
		o, _ := s.objects["obj:"+fmt.Sprint(files["/F"])].(map[string]any)
		stream, _ := o["stream"].(map[string]any)
		live(strings.Contains(fmt.Sprint(stream["dict"]), "x-msdownload"), "program by media type")
		live(regexp.MustCompile(`^(TVq|f0VM|IyE)`).MatchString(fmt.Sprint(stream["data"])), "program by bytes")
	}
}

// TestReferenceXObjects checks that a form XObject that represents a page of another file is rejected with every
// option, and that other forms are not.
func TestReferenceXObjects(t *testing.T) {
	t.Parallel()
	for entry, rejected := range map[string]bool{
		"/Ref<</F(//evil/x.pdf)/Page 0>>": true, "/Ref 7 0 R": true, "/R#65f<</F(a.pdf)/Page 0>>": true,
		"": false, "/Reference 1/Other<</Ref 1>>": false,
	} {
		for kind, reads := range map[string]bool{"/Subtype/Form": true, "/Subtype 8 0 R": true, "/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray": false} {
			b := file("", "/Resources<</Font<</F1 4 0 R>>/XObject<</X 6 0 R>>>>", "<</Type/XObject"+kind+"/BBox[0 0 9 9]"+entry+"/Length 0>>\nstream\n\nendstream", "<</F(a.pdf)/Page 0>>", "/Form")
			for _, active := range []string{prepare.ActiveRemove, prepare.ActiveReject} {
				_, rev, err := admission.AdmitPrepared(t.Context(), bytes.NewReader(b), int64(len(b)), sha256.Sum256(b), admission.DefaultLimits(), prepare.Options{ActiveContent: active})
				if !rejected || !reads {
					require.NoError(t, err, "%s %s", kind, entry)
					require.Nil(t, rev)
					continue
				}
				var r *rejection.Error
				require.ErrorAs(t, err, &r, "%s %s %s", kind, entry, active)
				require.Equal(t, rejection.PDFActiveContent, r.Code)
				require.Contains(t, r.Message, "a link to another file")
			}
		}
	}
}
