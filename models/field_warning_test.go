package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"countersign/models"
)

// TestWarnings_OfText checks which fields are measured, and with which text.
func TestWarnings_OfText(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]models.Field{
		"":        {Type: models.FieldCheckbox, DefaultValue: "true"},
		"one":     {Type: models.FieldSelect, Attributes: models.FieldAttributes{Options: []string{"one", "two"}}},
		"default": {Type: models.FieldText, DefaultValue: "default"},
		"average": {Type: models.FieldText, Attributes: models.FieldAttributes{MaxLength: 7}},
	} {
		var measured string
		warnings := new(models.Envelope).Warnings(&f, func(_ *models.Field, text string) (int, bool) {
			measured = text
			return 0, false
		}, false)
		assert.Equal(t, want, measured)
		assert.Equal(t, want != "", len(warnings) == 1, want)
	}
}
