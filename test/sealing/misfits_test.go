package sealing_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/seal/verify"
	"countersign/test/kit/sealkit"
)

// TestSeals_ThatDoNotMatch_AreRejected has one case for each reason why a signature dictionary, or the content around
// it, is not accepted as a seal.
func TestSeals_ThatDoNotMatch_AreRejected(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	original := sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage(""), Objects: []string{"(" + strings.Repeat("x", 12_000) + ")"}})
	_, b := sealkit.Sealed(t, k.Sealer(t), sealkit.Job(t, original))
	place := fmt.Sprintf("/Original[0 %d]", len(original))
	require.Len(t, place, len("/Original[0 12345]"))
	at := bytes.LastIndex(b, []byte(" 0 obj\n<</Type/Sig/"))
	number := b[bytes.LastIndexByte(b[:at], '\n')+1 : at]
	at -= len(number)
	record := string(b[bytes.LastIndex(b, []byte("/Record ")):][:len("/Record 1040 0 R")])
	for name, tt := range map[string]struct {
		was, is, reason string
	}{
		"the original ends before it begins": {place, fmt.Sprintf("/Original[%d 0]", len(original)), "the position of the original is invalid"},
		"an original of no bytes":            {place, "/Original[567 567]", "the position of the original is invalid"},
		"nothing at the beginning":           {record + place, strings.Replace(record, " 0 R", "9999 0 R", 1) + "/Original[0 0]", "the position of the original is invalid"},
		"an original that begins later":      {place, "/Original[567 568]", "the position of the original is invalid"},
		"a shorter original":                 {place, fmt.Sprintf("/Original[0 %d]", len(original)-1), "the seal and the record give different positions"},
		"an original up to the signature":    {place, fmt.Sprintf("/Original[0 %d]", at), "is outside the seal"},
		"an original beyond the signature":   {place, fmt.Sprintf("/Original[0 %d]", at+1), "the position of the original is invalid"},
		"no record":                          {record, "/Record 9999 0 R", "does not list the seal record"},
		"another number":                     {string(number) + " 0 obj\n<</Type/Sig/", strings.Repeat("9", len(number)) + " 0 obj\n<</Type/Sig/", "does not list the signature and the catalog"},
		"another signature named":            {"/DocMDP " + string(number), "/DocMDP " + strings.Repeat("9", len(number)), "refers to another signature"},
		"no signature named":                 {"/DocMDP ", "/DocXXX ", "refers to another signature"},
		"no permissions":                     {"/Perms <<", "/Perxx <<", "the catalog does not refer to the signature"},
		"another end":                        {"%%EOF\n", "%%EOF\r", "do not end in the format of a sealed file"},
		"does not refer to a catalog":        {"/Root ", "/Toor ", "the covered bytes are not a PDF"},
	} {
		i := bytes.LastIndex(b, []byte(tt.was))
		require.Positive(t, i, name)
		require.Len(t, tt.is, len(tt.was), "%s: the file must keep its length", name)
		changed := bytes.Clone(b)
		copy(changed[i:], tt.is)
		r := sealkit.Verified(t, changed, k.Trust())
		require.Equal(t, verify.VerdictBroken, r.Verdict, name)
		require.NotEqual(t, r.Has("signature.does_not_fit"), r.Has("original.missing"), "%s: %s", name, sealkit.TextOf(t, r))
		require.Contains(t, sealkit.TextOf(t, r), tt.reason, name)
	}
}

// TestAdmit_AttachmentNamedLikeTheRecord_IsRejected checks, in each encoding and under each key, that an attachment is
// rejected if a person or a file system could confuse its name with the name of the seal record. Other similar names
// must be accepted.
func TestAdmit_AttachmentNamedLikeTheRecord_IsRejected(t *testing.T) {
	t.Parallel()
	admit := func(key, spec string) error {
		b := sealkit.ClassicPDF(sealkit.Layout{
			Catalog: "/Names<</EmbeddedFiles<</Names[" + key + " 1001 0 R]>>>>", Pages: sealkit.LetterPage(""),
			Objects: []string{"<</Type/EmbeddedFile/Length 2>>\nstream\n{}\nendstream", "<</Type/Filespec" + spec + "/EF<</F 1000 0 R>>>>"},
		})
		_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
		return err
	}
	inUTF16 := func(s string, mark bool, big bool) string {
		var out []byte
		if mark {
			out = map[bool][]byte{true: {0xFE, 0xFF}, false: {0xFF, 0xFE}}[big]
		}
		for _, u := range utf16.Encode([]rune(s)) {
			if big {
				out = append(out, byte(u>>8), byte(u))
			} else {
				out = append(out, byte(u), byte(u>>8))
			}
		}
		return "<" + hex.EncodeToString(out) + ">"
	}
	rejected := func(what string, err error) {
		t.Helper()
		var r *rejection.Error
		require.ErrorAs(t, err, &r, what)
		require.Equal(t, rejection.PDFAttachment, r.Code, what)
	}
	for _, name := range []string{
		"seal.json", "SEAL.JSON", " seal.json", "seal.json ", "seal.json.", ". seal.json . ", "a/seal.json", `a\seal.json`, "a:seal.json", "/seal.json", "s\u200deal.json", "sea\u0301l.json", "s\x01eal.json",
		"seal．json", "countersign-seal.json", "x/Countersign-Seal.json",
	} {
		text := inUTF16(name, true, true)
		rejected(name, admit(text, "/F(a)"))
		for _, key := range []string{"F", "UF", "DOS", "Mac", "Unix"} {
			rejected(name+" as "+key, admit("(a)", "/"+key+text))
		}
		rejected(name, admit("(a)", "/F"+inUTF16(name, true, false)))
		rejected(name, admit("(a)", "/F"+inUTF16(name, false, true)))
		rejected(name, admit("(a)", "/F"+inUTF16(name, false, false)))
		rejected(name, admit("(a)", "/F<"+hex.EncodeToString([]byte(name))+">"))
	}
	for _, name := range []string{"seal.jso", "seal.json.txt", "seal.json/a", "xseal.json", "seal json", "", "s", "countersign-seal.jsonx"} {
		require.NoError(t, admit(inUTF16(name, true, true), "/F"+inUTF16(name, true, true)), name)
	}
	require.NoError(t, admit("(a)", "/X(seal.json)"), "a key without a file")
}

// TestLayersAndActions checks the warnings for each usage that makes programs display a layer differently, and for each
// action that shows or hides content.
func TestLayersAndActions(t *testing.T) {
	t.Parallel()
	const bare = "/MediaBox[0 0 612 792]/Resources<<>>/Contents null"
	count := func(code, properties, group string, objects ...string) int {
		b := sealkit.ClassicPDF(sealkit.Layout{Catalog: properties, Pages: []sealkit.Page{{Extra: bare}}, Objects: append([]string{"<</Type/OCG/Name(L)" + group + ">>"}, objects...)})
		return warning(t, b, code).Count
	}
	layers := func(d, group string, objects ...string) int {
		return count(admission.WarnLayers, "/OCProperties<</OCGs[1000 0 R]/D<<"+d+">>>>", group, objects...)
	}
	asks := func(category string) string { return "/AS[<</OCGs[1000 0 R]/Category[/" + category + "]>>]" }
	for name, tt := range map[string]struct {
		d, group string
		want     int
	}{
		"shown, not exported":              {"", "/Usage<</Export<</ExportState/OFF>>>>", 1},
		"shown and exported":               {"", "/Usage<</Export<</ExportState/ON>>>>", 0},
		"shown, not printed":               {"", "/Usage<</Print<</PrintState/OFF>>>>", 1},
		"not by a state of another use":    {"", "/Usage<</Print<</ViewState/OFF>>>>", 0},
		"an invalid state":                 {"", "/Usage<</Print<</PrintState(OFF)>>>>", 0},
		"off twice":                        {"/OFF[1000 0 R]", "/Usage<</View<</ViewState/OFF>>>>", 0},
		"off, and on in view":              {"/OFF[1000 0 R]", "/Usage<</View<</ViewState/ON>>>>", 1},
		"off and on is off":                {"/OFF[1000 0 R]/ON[1000 0 R]", "/Usage<</View<</ViewState/ON>>>>", 1},
		"all off but this one":             {"/BaseState/OFF/ON[1000 0 R]", "/Usage<</View<</ViewState/OFF>>>>", 1},
		"all unchanged":                    {"/BaseState/Unchanged", "/Usage<</View<</ViewState/OFF>>>>", 1},
		"a requested language":             {asks("Language"), "/Usage<</Language<</Lang(de)>>>>", 1},
		"a requested user":                 {asks("User"), "/Usage<</User<</Name(x)>>>>", 1},
		"a magnification":                  {asks("Zoom"), "/Usage<</Zoom<</min 1>>>>", 1},
		"requested, but not specified":     {asks("Zoom"), "/Usage<</Print<</PrintState/ON>>>>", 0},
		"not requested":                    {asks("Print"), "/Usage<</Zoom<</min 1>>>>", 0},
		"requested, but without usages":    {asks("User"), "", 0},
		"a usage that is not a dictionary": {asks("User"), "/Usage null", 0},
		"a group of another usage":         {"/AS[<</OCGs[1001 0 R]/Category[/Print]>>]", "", 1},
		"a group that is listed twice":     {"/AS[<</OCGs[1000 0 R 1000 0 R]/Category[/Print]>>]", "/Usage<</Print<</PrintState/OFF>>>>", 1},
	} {
		require.Equal(t, tt.want, layers(tt.d, tt.group, "<</Type/OCG/Name(M)/Usage<</Print<</PrintState/OFF>>>>>>"), name)
	}
	require.Zero(t, count(admission.WarnLayers, "", "/Usage<</Print<</PrintState/OFF>>>>"), "without properties there are no layers")
	require.Zero(t, count(admission.WarnLayers, "/OCProperties<</OCGs[7]>>", ""))
	for action, want := range map[string]int{
		"Hide": 1, "SetOCGState": 1, "ResetForm": 1, "GoTo": 0, "URI": 0, "Named": 0,
	} {
		require.Equal(t, want, count(admission.WarnActions, "", "", "<</S/"+action+">>"), action)
		require.Equal(t, want, count(admission.WarnActions, "", "", "<</S 1002 0 R>>", "/"+action), action)
	}
	require.Zero(t, count(admission.WarnActions, "", "", "<</Type/StructElem/S/Hide>>"))
}

// TestNullsInThePageTree checks that a file is rejected if an inheritable entry is null, either in a page tree node or
// in a page.
func TestNullsInThePageTree(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"MediaBox", "CropBox", "Resources", "Rotate"} {
		for where, l := range map[string]sealkit.Layout{
			"page":             {Pages: []sealkit.Page{{Extra: "/" + key + " null", Content: "q Q"}}},
			"page, by nothing": {Pages: []sealkit.Page{{Extra: "/" + key + " 4000 0 R", Content: "q Q"}}},
			"node":             {Pages: []sealkit.Page{{Content: "q Q"}}, Tree: "/" + key + " null"},
		} {
			b := sealkit.ClassicPDF(l)
			_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected, "%s in a %s", key, where)
			require.Contains(t, rejected.Message, "has a "+key+" that is null", "%s in a %s", key, where)
		}
	}
	for _, count := range []string{"1", "3"} {
		b := bytes.Replace(sealkit.SimplePDF(2), []byte("/Count 2"), []byte("/Count "+count), 1)
		_, err := admission.Admit(t.Context(), bytes.NewReader(b), int64(len(b)), admission.DefaultLimits())
		require.ErrorContains(t, err, "has 2 pages but a different Count", count)
	}
}
