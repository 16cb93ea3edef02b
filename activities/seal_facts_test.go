package activities_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSeal_UsesFactsOfTheUpload checks that facts determined at upload time are passed to the sealer, and that a
// document without stored facts is also sealed.
func TestSeal_UsesFactsOfTheUpload(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		const facts = `{"v":2,"undefined":[[7,2]],"highest":9}`
		for _, kept := range []string{facts, ""} {
			e, in := env.sent("a@example.com")
			db, err := env.Store.DB()
			require.NoError(env.t, err)
			_, err = db.ExecContext(env.t.Context(), "UPDATE documents SET seal_facts = '"+kept+"' WHERE document_order = 2 AND envelope_id = '"+e.ID.String()+"'")
			require.NoError(env.t, err)
			env.signAll(e)
			env.sealed(in)
			assert.Equal(env.t, 2, env.sealer.last.Document.Order)
			assert.Equal(env.t, kept, env.sealer.last.Facts.Encode())
		}
	})
}
