package models_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestFieldsFor_ReplacedDocument checks that a requested field of a replaced document is moved to the first document,
// and that a detected field is dropped.
func TestFieldsFor_ReplacedDocument(t *testing.T) {
	t.Parallel()
	kept, replaced := uuid.New(), uuid.New()
	c := models.TemplateContent{Fields: []models.TemplateField{
		{Field: models.Field{Page: 1, DocumentID: kept}},
		{Field: models.Field{Page: 2, DocumentID: replaced, Source: models.SourceRequest}},
		{Field: models.Field{Page: 3, DocumentID: replaced, Source: models.SourceForm}},
	}}
	in := c.FieldsFor([]*models.TemplateDocument{{Document: models.Document{ID: kept}}})
	require.Len(t, in, 2)
	require.Equal(t, &kept, in[0].DocumentID)
	require.Equal(t, 2, in[1].Page)
	require.Nil(t, in[1].DocumentID)
}
