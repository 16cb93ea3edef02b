package models_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestPageLog_LeavesTheLoadedOneAsItWas: a view makes a new log, so that the row that was loaded is seen to differ.
func TestPageLog_LeavesTheLoadedOneAsItWas(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	document := e.Originals()[0].ID
	require.NoError(t, e.ViewPage(act(start), link(e, 0), document, 2, 10, nil))
	loaded := e.Signers[0].Pages
	require.NoError(t, e.ViewPage(act(start), link(e, 0), document, 1, 10, nil))
	require.Equal(t, map[uuid.UUID][][2]int{document: {{2, 2}}}, loaded.Seen)
	require.Equal(t, map[uuid.UUID][][2]int{document: {{1, 2}}}, e.Signers[0].Pages.Seen)
}
