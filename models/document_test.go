package models_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestWarningsOfADocument: what programs may show differently is in the audit
// trail, and a document without it has an event as before.
func TestWarningsOfADocument(t *testing.T) {
	t.Parallel()
	for _, warnings := range [][]string{nil, {"font_not_embedded", "overprint"}} {
		e, err := models.NewEnvelope(act(start), models.Envelope{AppID: uuid.New(), TenantID: "t1", CreatedBy: "me"})
		require.NoError(t, err)
		in := page()
		in.Warnings = warnings
		_, err = e.AddDocument(act(start), in, 1)
		require.NoError(t, err)
		last := e.Events[len(e.Events)-1]
		require.Equal(t, models.EventDocumentAdded, last.Name)
		got, has := last.Detail["warnings"]
		require.Equal(t, warnings != nil, has)
		if has {
			require.Equal(t, warnings, got)
		}
	}
}
