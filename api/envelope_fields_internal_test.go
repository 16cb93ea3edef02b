package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestFieldRequests checks that a field can refer to its signer by an index, with or without quotes.
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

func TestViewExtras_BoundsAreOfTheFieldsType(t *testing.T) {
	t.Parallel()
	f := &models.Field{Type: models.FieldDate, Attributes: models.FieldAttributes{Validation: &models.FieldValidation{Min: "2026-01-02"}}}
	b, err := json.Marshal(viewExtras(f))
	require.NoError(t, err)
	require.Contains(t, string(b), `"min":"2026-01-02"`)
	f.Type, f.Attributes.Validation.Min = models.FieldNumber, "1.5"
	b, err = json.Marshal(viewExtras(f))
	require.NoError(t, err)
	require.Contains(t, string(b), `"min":1.5`)
}
