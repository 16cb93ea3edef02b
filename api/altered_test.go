package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/testkit"
	"countersign/store/blob"
)

// TestAlteredFiles: a file that somebody put in the place of a document is given
// to nobody, encrypted or not.
func TestAlteredFiles(t *testing.T) {
	t.Parallel()
	for name, encrypted := range map[string]bool{"plain": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var plain blob.Store
			s := onSQLite(t, func(cfg *api.Config) {
				plain = cfg.Blobs
				cfg.Blobs = blob.NewEncrypted(plain, testkit.Vault(t), encrypted)
			})
			c, nobody := s.client(t), &client{t: t, s: s}
			e, token := c.sent(contract())
			put := func(to blob.Store, key string, content []byte) {
				t.Helper()
				f, err := to.Temp()
				require.NoError(t, err)
				defer blob.Discard(f)
				_, err = f.Write(content)
				require.NoError(t, err)
				require.NoError(t, to.Keep(t.Context(), f, key))
			}
			stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
			require.NoError(t, err)
			d := stored.Originals()[0]
			require.Equal(t, encrypted, d.Encrypted)
			at := "/v1/signing/" + token
			doc := at + "/documents/" + d.ID.String()
			own := "/v1/envelopes/" + e.str("id") + "/document"
			require.Equal(t, testkit.OnePage(), nobody.get(doc).want(200).raw)

			// The original as it was, but in plain: whoever could write it could have written another.
			put(plain, d.BlobKey, testkit.OnePage())
			fresh, err := api.New(s.cfg) // which has nothing open
			require.NoError(t, err)
			s.Config.Handler = fresh
			if encrypted {
				nobody.get(doc).refused(503, "document_unavailable")
			} else {
				nobody.get(doc).want(200)
			}
			swapped := append(testkit.OnePage(), "%"...)
			for _, to := range []blob.Store{plain, s.cfg.Blobs} {
				put(to, d.BlobKey, swapped)
				fresh, err := api.New(s.cfg)
				require.NoError(t, err)
				s.Config.Handler = fresh
				nobody.get(at+"/document").refused(503, "document_unavailable")
				nobody.get(doc).refused(503, "document_unavailable")
				c.get(own).refused(503, "document_unavailable")
				c.get("/v1/console/envelopes/"+e.str("id")+"/document").refused(503, "document_unavailable")
			}
			put(s.cfg.Blobs, d.BlobKey, testkit.OnePage())
			nobody.get(doc).want(200)
			c.signs(e, token)
			portal := "/v1/download/" + s.completes(t, e.str("id"), 0) + "/document"
			nobody.get(portal).want(200)
			put(s.cfg.Blobs, "envelopes/"+e.str("id")+"/sealed/x.pdf", swapped)
			fresh, err = api.New(s.cfg)
			require.NoError(t, err)
			s.Config.Handler = fresh
			nobody.get(portal).refused(503, "document_unavailable")
		})
	}
}
