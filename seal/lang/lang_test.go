package lang_test

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/lang"
)

var verb = regexp.MustCompile(`%[a-z]`)

// Every language has every text, with the same things put in, in the same order.
func TestLanguagesAreComplete(t *testing.T) {
	t.Parallel()
	english := reflect.ValueOf(*lang.ForTag("en"))
	for _, text := range lang.All() {
		v := reflect.ValueOf(*text)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			switch f := v.Field(i).Interface().(type) {
			case string:
				require.NotEmpty(t, f, "%s %s", text.Tag, name)
				assert.Equal(t, verb.FindAllString(english.Field(i).String(), -1), verb.FindAllString(f, -1), "%s %s", text.Tag, name)
			case map[string]string:
				for _, key := range english.Field(i).MapKeys() {
					assert.NotEmpty(t, f[key.String()], "%s %s %s", text.Tag, name, key)
				}
				assert.Len(t, f, english.Field(i).Len(), "%s %s", text.Tag, name)
			case lang.Plural:
				assert.Contains(t, f.Other, "%d", "%s %s", text.Tag, name)
			case bool:
				assert.Equal(t, text.Tag == "ar", f, name)
			default:
				t.Fatalf("%s is of a type that this test does not know", name)
			}
		}
	}
}

func TestFor(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"de": "de", "de-AT": "de", "PT-br": "pt", "": "en", "tlh": "en", "ar": "ar"} {
		assert.Equal(t, want, lang.ForTag(tag).Tag, tag)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tag  string
		n    int
		want string
	}{
		{"en", 1, "1 page"},
		{"en", 2, "2 pages"},
		{"en", 0, "0 pages"},
		{"fr", 0, "0 page"},
		{"fr", 2, "2 pages"},
		{"ja", 1, "1 ページ"},
		{"ar", 1, "صفحة واحدة"},
		{"ar", 2, "صفحتان"},
		{"ar", 3, "3 صفحات"},
		{"ar", 11, "11 صفحة"},
		{"ar", 100, "100 صفحة"},
	} {
		text := lang.ForTag(c.tag)
		assert.Equal(t, c.want, text.Count(text.Pages, c.n), "%s %d", c.tag, c.n)
	}
}
