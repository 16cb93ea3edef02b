package lang_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"countersign/locales"
	"countersign/seal/lang"
)

// TestEveryTextIsThere checks that certificate.json contains every field of Text in every language.
func TestEveryTextIsThere(t *testing.T) {
	t.Parallel()
	for _, tag := range locales.Tags() {
		text := lang.ForTag(tag)
		v := reflect.ValueOf(*text)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "RightToLeft" {
				assert.False(t, v.Field(i).IsZero(), "%s.%s", tag, name)
			}
		}
		assert.Equal(t, tag == "ar" || tag == "he", text.RightToLeft, tag)
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
