//go:build !azure

package blob

import (
	"context"
	"errors"
)

// openAzure returns an error. Only release builds include the Azure SDK, so other builds need not compile it.
func openAzure(context.Context, string) (Store, error) {
	return nil, errors.New("blob URL: this program was built without Azure; build it with \"make server TAGS=azure\", or use a released one")
}
