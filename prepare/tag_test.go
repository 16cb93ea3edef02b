package prepare_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
)

// TestParseTag checks that tags in the four formats have the same meaning as in the programs that define them.
func TestParseTag(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]prepare.Tag{
		"{{Town}}":            {Name: "Town", Type: "text", Required: true},
		"{{Name}}":            {Type: "name", Required: true},
		"{{signature}}":       {Type: "signature", Required: true},
		"{{ signature ; }}":   {Type: "signature", Required: true},
		"{{email;type=text}}": {Name: "email", Type: "text", Required: true},
		"{{Sig_1;role=Tenant;type=signature;required=false}}": {Name: "Sig_1", Role: "Tenant", Type: "signature"},
		"{{Pet; type = select; options= cat, dog ;default=dog;label=Your pet, please;placeholder=a=b}}": {
			Name: "Pet", Type: "select", Options: []string{"cat", "dog"}, Default: "dog", Label: "Your pet, please", Placeholder: "a=b", Required: true,
		},
		"{{D;type=date;format=dd.mm.yyyy;width=90.5;height=14;readonly=TRUE}}": {
			Name: "D", Type: "date", Format: "dd.mm.yyyy", W: 90.5, H: 14, ReadOnly: true, Required: true,
		},
		"{{N;condition=Pet:cat}}":                   {Name: "N", Type: "text", Required: true, Condition: &prepare.TagCondition{Field: "Pet", Is: "cat"}},
		"{{signature, r1, required=true}}":          {Type: "signature", Role: "r1", Signer: 1, Required: true},
		"{{Where, type=text, r12, required=false}}": {Name: "Where", Type: "text", Role: "r12", Signer: 12},
		"{{number,r2,readOnly=true,fontSize=12,textAlign=right,value=50,maxValue=99}}": {
			Type: "number", Role: "r2", Signer: 2, Required: true, ReadOnly: true, FontSize: 12, Align: "right", Default: "50", Max: "99",
		},
		"{{number, minValue=-1.5, label=Your age, placeholder=in years}}": {Type: "number", Required: true, Min: "-1.5", Label: "Your age", Placeholder: "in years"},
		"{{text,r1,required=true,textAlign=Center}}":                      {Type: "text", Role: "r1", Signer: 1, Required: true, Align: "center"},
		"{{Sig_es_:signer1:signature}}":                                   {Name: "Sig", Type: "signature", Role: "signer1", Signer: 1, Required: true},
		"{{*Town_es_:signer2}}":                                           {Name: "Town", Type: "text", Role: "signer2", Signer: 2, Required: true},
		"{{!Town_es_:sender}}":                                            {Name: "Town", Type: "text", Role: "sender", ReadOnly: true},
		"{{*!Town_es_:signer2:fullname}}":                                 {Name: "Town", Type: "name", Role: "signer2", Signer: 2, ReadOnly: true, Required: true},
		"[sig|req|signer1|Label|id]":                                      {Name: "id", Type: "signature", Role: "signer1", Signer: 1, Label: "Label", Required: true},
		"[check|noreq|signer2]":                                           {Type: "checkbox", Role: "signer2", Signer: 2},
		"[ initials | REQ | signer1 | | in.1 ]":                           {Name: "in.1", Type: "initial", Role: "signer1", Signer: 1, Required: true},
	} {
		got, err := prepare.ParseTag(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for in, want := range map[string]string{
		"{{}}":                                  "a name of 1 to 64",
		"{{a b}}":                               `not "a b"`,
		"{{type=text}}":                         "a name or a type first",
		"{{N;requir=true}}":                     `not "requir"`,
		"{{N;required=yes}}":                    `required=true or required=false, not "yes"`,
		"{{N;required}}":                        `key=value, not "required"`,
		"{{N;type=sgnature}}":                   `not "sgnature"`,
		"{{N;type=text;type=date}}":             "type only once",
		"{{N;width=-1}}":                        "width in points",
		"{{N;width=NaN}}":                       "width in points",
		"{{N;height=1e9}}":                      "height in points",
		"{{N;type=select}}":                     "options=A,B for a select",
		"{{N;options=a,,b}}":                    "options=A,B",
		"{{N;options=a,a}}":                     "distinct",
		"{{N;condition=Pet}}":                   "condition=Name:value",
		"{{N;role=}}":                           "a role",
		"{{signature, r1, r2}}":                 "role only once",
		"{{bogus,r1}}":                          `not "bogus"`,
		"{{Where, r12, required=false}}":        `a type (signature, initial,`,
		"{{number,fontSize=3}}":                 "fontSize from 4 to 72",
		"{{number,fontSize=NaN}}":               "fontSize from 4 to 72",
		"{{number,textAlign=top}}":              "textAlign=left, center or right",
		"{{number,maxValue=many}}":              `maxValue with a number such as 99 or -1.5, not "many"`,
		"{{text,maxValue=9}}":                   "minValue and maxValue only for number fields",
		"{{number,value=1,default=2}}":          "default only once",
		"{{a{b}}":                               "no brace",
		"{{N":                                   `"}}" at the end`,
		"{{_es_:signer1}}":                      "a name",
		"{{N_es_:}}":                            "a role",
		"{{N_es_:signer1:text:max}}":            "with nothing after",
		"[sig|req]":                             "3 to 5 parts, not 2",
		"[sig|maybe|signer1]":                   "req or noreq",
		"[sing|req|signer1]":                    "a type",
		"[sig|req|signer1|L|a b]":               "a name",
		"Name":                                  "at the start",
		"{{" + strings.Repeat("a", 5000) + "}}": "at most 600 characters",
	} {
		_, err := prepare.ParseTag(in)
		require.ErrorContains(t, err, "expected ", in)
		require.ErrorContains(t, err, want, in)
	}
}

func line(y int, text string) string {
	return fmt.Sprintf("BT /F1 10 Tf 100 %d Td %s ET ", y, text)
}

// TestFindTags checks that tags are found in reading order with their boxes, even if a tag is split between text
// operators or lines.
func TestFindTags(t *testing.T) {
	t.Parallel()
	f := document(t,
		line(700, "(Name: {{To) Tj (wn;role=Ten) Tj (ant}} and) Tj")+line(650, "[({) 20 ({signa) -20 (ture}) 3 (})] TJ")+
			line(600, "(see [1] and [sig|req|signer1|Sign here|s1], [date], [text])Tj"),
		line(500, "14 TL (Here {{Pet;type=select;opti) Tj T* (ons=cat,dog;la) Tj T* (bel=Your pet}} goes on) Tj"))
	found, err := prepare.FindTags(t.Context(), f)
	require.NoError(t, err)
	require.Len(t, found, 4)
	require.Equal(t, prepare.Tag{Name: "Town", Type: "text", Role: "Tenant", Required: true}, found[0].Tag)
	require.Equal(t, "{{Town;role=Tenant}}", found[0].Text)
	require.Equal(t, 1, found[0].Place.Page)
	require.InDelta(t, 100+10*(.722+.556+.833+.556+.278+.278), found[0].Place.X, 0.01)
	require.InDelta(t, 100, found[0].Place.Y+found[0].Place.H/2, 5)
	require.Len(t, found[0].Glyphs, len("{{Town;role=Tenant}}"))
	require.Equal(t, "signature", found[1].Type)
	require.Equal(t, "Sign here", found[2].Label)
	require.Equal(t, []string{"cat", "dog"}, found[3].Options)
	require.Equal(t, "Your pet", found[3].Label)
	require.Equal(t, 2, found[3].Place.Page)
	require.Len(t, found[3].Lines, 3)
	require.InDelta(t, 3*14, found[3].Place.H, 5)
	require.Len(t, found[3].Glyphs, len("{{Pet;type=select;options=cat,dog;label=Your pet}}"))
}

// TestTagSize checks that the field has the tag's box unless the tag specifies a size.
func TestTagSize(t *testing.T) {
	t.Parallel()
	found, err := prepare.FindTags(t.Context(), document(t, line(700, "({{N;width=200}}) Tj")))
	require.NoError(t, err)
	require.InDelta(t, 200, found[0].Place.W, 0)
	require.InDelta(t, 11, found[0].Place.H, 5)
}

// TestBadTags checks that the error for a tag that cannot be read or removed contains the tag and its page.
func TestBadTags(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		line(700, "({{N;typ=text}}) Tj"):          `the tag "{{N;typ=text}}" on page 2 cannot be read: expected type, role`,
		line(700, "({{N;type=text and on) Tj"):    `the tag "{{N;type=text and on" on page 2 cannot be read: expected "}}" after the tag`,
		line(700, "([sig|req] here) Tj"):          `the tag "[sig|req]" on page 2`,
		line(700, "3 Tr ({{signature}}) Tj"):      "the text of the tag is invisible",
		line(700, "({{sig) Tj 3 Tr (nature}})Tj"): "the text of the tag is invisible",
	} {
		_, err := prepare.FindTags(t.Context(), document(t, "", content))
		var tag *prepare.TagError
		require.ErrorAs(t, err, &tag, content)
		require.Equal(t, 2, tag.Page)
		require.ErrorContains(t, err, want)
	}
}

// FuzzParseTag checks that accepted tags are within the limits, and that parsing returns only the errors that it
// defines.
func FuzzParseTag(f *testing.F) {
	for _, s := range []string{
		"{{Name;role=Tenant;type=signature;required=true}}", "{{signature, r1, required=true}}", "{{*Name_es_:signer1:signature}}",
		"[sig|req|signer1|Label|id]", "{{N;options=a,b;width=1;condition=A:b}}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tag, err := prepare.ParseTag(s)
		if err != nil {
			require.ErrorContains(t, err, "expected ")
			return
		}
		require.Contains(t, prepare.FieldTypes(), tag.Type)
		require.LessOrEqual(t, len(tag.Name), 64)
		require.True(t, tag.W >= 0 && tag.H >= 0 && tag.W <= 14400 && tag.H <= 14400)
		require.True(t, tag.Name != "" || tag.Type != "")
		require.LessOrEqual(t, len(tag.Options), 100)
	})
}
