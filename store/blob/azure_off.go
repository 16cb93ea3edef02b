//go:build !azure

package blob

import (
	"context"
	"errors"
)

// openAzure fails: Azure's SDK is a fifth of the program's compilation, and only release builds include it.
func openAzure(context.Context, string) (Store, error) {
	return nil, errors.New("blob URL: this program was built without Azure; build it with \"make server TAGS=azure\", or use a released one")
}
