package clients_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"countersign/clients/go/api"
)

// TestGoClient_HasEveryCallOfTheContract checks that the Go client has a method for every operation that accepts an
// application's token, and for none that accepts only a console user's token.
func TestGoClient_HasEveryCallOfTheContract(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("../../api/openapi.yaml")
	require.NoError(t, err)
	client := reflect.TypeFor[*api.ClientWithResponses]()
	operations := 0
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			name := strings.ToUpper(o.OperationID[:1]) + o.OperationID[1:]
			_, plain := client.MethodByName(name + "WithResponse")
			_, body := client.MethodByName(name + "WithBodyWithResponse")
			require.NotNil(t, o.Security, "%s %s does not specify its credential", method, path)
			switch app, open := hasScheme(*o.Security, "bearer"), len(*o.Security) == 0; {
			case app:
				require.True(t, plain || body, "%s %s accepts an application's token, but %s is missing from the Go client", method, path, name)
				operations++
			case !open:
				require.False(t, plain || body, "%s %s does not accept an application's token, but %s is in the Go client", method, path, name)
			}
		}
	}
	require.Greater(t, operations, 70)
}

func hasScheme(all openapi3.SecurityRequirements, name string) bool {
	for _, r := range all {
		if _, ok := r[name]; ok {
			return true
		}
	}
	return false
}
