package api_test

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/test/kit"
	"countersign/test/kit/sealkit"
)

// verifiesPages checks that exactly the recorded pages of a sealed PDF can be requested.
func (s *service) verifiesPages(t *testing.T, sealed []byte, shown object) {
	t.Helper()
	page := func(pdf []byte, page string) *response {
		return (&client{t: t, s: s}).send(http.MethodPost, "/v1/verify/pages/"+page, "application/pdf", pdf)
	}
	picture := page(sealed, "1?level=1").want(200)
	require.Equal(t, "image/png", picture.header.Get("Content-Type"))
	require.Equal(t, shown["pages"].([]any)[0].(object)["sha256"], picture.header.Get("X-Appearance-SHA256"))
	require.Equal(t, "no-store", picture.header.Get("Cache-Control"))
	page(sealed, "1?level=2").rejected(404, "not_found") // was not displayed to a signer
	page(sealed, "2?level=1").rejected(404, "not_found")
	page(sealed, "0").rejected(404, "not_found")
	page(sealed, "1?level=3").rejected(400, "validation_error")
	page(kit.OnePage(), "1?level=1").rejected(404, "not_found")

	// If the seal is broken, no pages can be requested.
	forged := bytes.Replace(sealed, []byte("%PDF-1."), []byte("%PDF-2."), 1)
	require.NotEqual(t, sealed, forged)
	page(forged, "1?level=1").rejected(404, "not_found")

	// If the sealer is unknown but the record is valid, the appearance of the page is compared with the record.
	original := sealkit.SimplePDF(1)
	drawn, err := kit.Renderer{}.Page(t.Context(), bytes.NewReader(original), int64(len(original)), 1, 1)
	require.NoError(t, err)
	page(sealkit.SealedWithPicture(t, original, hex.EncodeToString(drawn.Hash)), "1?level=1").want(200)
	page(sealkit.SealedWithPicture(t, original, strings.Repeat("0", 64)), "1?level=1").rejected(422, "appearance_differs")
}
