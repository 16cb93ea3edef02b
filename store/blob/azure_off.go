//go:build !azure

package blob

import (
	"context"
	"errors"
)

// openAzure fails: only release builds include Azure's SDK, so that a first build does not compile it.
func openAzure(context.Context, string) (Store, error) {
	return nil, errors.New("blob URL: this program was built without Azure; build it with \"make server TAGS=azure\", or use a released one")
}
