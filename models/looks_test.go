package models_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestSizesOfFieldsThatNameNone: each type has its own.
func TestSizesOfFieldsThatNameNone(t *testing.T) {
	t.Parallel()
	want := map[models.FieldType][2]float64{
		models.FieldSignature: {160, 40}, models.FieldInitial: {60, 30}, models.FieldCheckbox: {14, 14}, models.FieldRadio: {14, 14},
		models.FieldDate: {100, 18}, models.FieldNumber: {100, 18}, models.FieldStamp: {100, 100}, models.FieldAttachment: {160, 24},
	}
	for _, typ := range models.FieldTypes {
		w, h := typ.DefaultSize()
		size, ok := want[typ]
		if !ok {
			size = [2]float64{160, 18}
		}
		assert.Equal(t, []float64{w, h}, size[:], typ)
	}
}

// TestLooksOfFieldsAreBounded: to the point, and to the character.
func TestLooksOfFieldsAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    models.FieldAttributes
		want string // the value that is refused; "" for none
	}{
		{models.FieldAttributes{FontSize: 4}, ""},
		{models.FieldAttributes{FontSize: 72}, ""},
		{models.FieldAttributes{FontSize: 3.9}, "fontSize"},
		{models.FieldAttributes{FontSize: 72.1}, "fontSize"},
		{models.FieldAttributes{MaxLength: 2000}, ""},
		{models.FieldAttributes{MaxLength: 2001}, "maxLength"},
		{models.FieldAttributes{MaxLength: -1}, "maxLength"},
		{models.FieldAttributes{Align: "middle"}, "align"},
		{models.FieldAttributes{Comb: true}, "comb"},
		{models.FieldAttributes{Comb: true, MaxLength: 5}, ""},
		{models.FieldAttributes{Comb: true, MaxLength: 5, Multiline: true}, "comb"},
	} {
		in := field("0", models.FieldText)
		in.Required, in.Attributes = false, c.a
		_, err := draft(t, nil, models.AuthNone, 1).AddFields(act(start), []models.FieldInput{in}, models.NoPrefix)
		if c.want == "" {
			require.NoError(t, err, "%+v", c.a)
			continue
		}
		assert.Equal(t, []string{c.want}, problemsOf(t, err), "%+v", c.a)
	}
}

// TestPreparedDocuments: people read the prepared file where there is one, and both are kept.
func TestPreparedDocuments(t *testing.T) {
	t.Parallel()
	d := &models.Document{ID: uuid.New(), SHA256: strings.Repeat("0", 64), Size: 9, BlobKey: "original"}
	assert.Same(t, d, d.Presented())
	assert.Equal(t, []string{"original"}, d.BlobKeys())
	d.PreparedSHA256, d.PreparedSize, d.PreparedKey, d.PreparedEncrypted = strings.Repeat("1", 64), 8, "prepared", true
	shown := d.Presented()
	assert.Equal(t, []any{d.ID, d.PreparedSHA256, int64(8), "prepared", true}, []any{shown.ID, shown.SHA256, shown.Size, shown.BlobKey, shown.Encrypted})
	assert.Equal(t, "original", d.BlobKey)
	assert.Equal(t, []string{"original", "prepared"}, d.BlobKeys())
}
