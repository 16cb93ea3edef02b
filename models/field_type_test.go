package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"countersign/models"
)

// TestDefaultFieldSizes checks the default size of each type.
func TestDefaultFieldSizes(t *testing.T) {
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
