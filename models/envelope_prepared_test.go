package models_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"countersign/models"
)

// TestPreparedDocument_IsPresented checks that the prepared file is presented if there is one, and that both files are
// kept.
func TestPreparedDocument_IsPresented(t *testing.T) {
	t.Parallel()
	d := &models.Document{ID: uuid.New(), SHA256: strings.Repeat("0", 64), Size: 9, BlobKey: "original"}
	assert.Same(t, d, d.Presented())
	assert.Equal(t, []string{"original"}, d.BlobKeys())
	d.PreparedSHA256, d.PreparedSize, d.PreparedKey, d.PreparedEncrypted = strings.Repeat("1", 64), 8, "prepared", true
	shown := d.Presented()
	assert.Equal(t, []any{d.ID, d.PreparedSHA256, int64(8), "prepared", true}, []any{shown.ID, shown.SHA256, shown.Size, shown.BlobKey, shown.Encrypted})
	assert.Equal(t, "original", d.BlobKey)
	assert.Equal(t, []string{"original", "prepared"}, d.BlobKeys())
}
