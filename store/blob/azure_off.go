//go:build !azure

package blob

import (
	"context"
	"errors"
)

// openAzure returns an error, because only release builds include the Azure SDK. Other builds therefore need not
// compile it.
func openAzure(context.Context, string) (Store, error) {
	return nil, errors.New("blob URL: this program was built without Azure; build it with \"make server TAGS=azure\", or use a released one")
}
