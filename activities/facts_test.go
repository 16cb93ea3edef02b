package activities_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFactsOfTheUploadAreSealedWith: what was found out at the upload reaches the
// seal, and a document of which nothing was kept is sealed all the same.
func TestFactsOfTheUploadAreSealedWith(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		const facts = `{"v":1,"undefined":[[7,2]],"highest":9}`
		for _, kept := range []string{facts, ""} {
			e, in := h.sent("a@example.com")
			db, err := h.Store.Pool()
			require.NoError(h.t, err)
			_, err = db.ExecContext(h.t.Context(), "UPDATE documents SET seal_facts = '"+kept+"' WHERE document_order = 2 AND envelope_id = '"+e.ID.String()+"'")
			require.NoError(h.t, err)
			h.signAll(e)
			h.sealed(in)
			assert.Equal(h.t, 2, h.stamp.last.Document.Order)
			assert.Equal(h.t, kept, h.stamp.last.Facts.Encode())
		}
	})
}
