package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestFieldRequests: who fills a field may be named by an index with or without quotes.
func TestFieldRequests(t *testing.T) {
	t.Parallel()
	const rest = `"type":"text","page":1,"x":1,"y":2,"w":3,"h":4`
	for ref, want := range map[string]string{`"0"`: "0", `1`: "1", `"x"`: "x"} {
		o := objectOf(t, `{"signerId":`+ref+`,`+rest+`}`)
		in := fieldInput(o, models.OriginTopLeft)
		require.Equal(t, want, in.SignerRef)
		require.Equal(t, models.OriginTopLeft, in.Origin)
		require.True(t, in.Required)
		require.Empty(t, o.p)
	}
	o := objectOf(t, `{"signerId":"0","origin":"bottom-left","required":false,`+rest+`}`)
	in := fieldInput(o, models.OriginTopLeft)
	require.Equal(t, models.OriginBottomLeft, in.Origin)
	require.False(t, in.Required)
	o = objectOf(t, `{`+rest+`}`)
	fieldInput(o, models.OriginTopLeft)
	require.Equal(t, models.Problems{"signerId": {"is required"}}, o.p)
}
