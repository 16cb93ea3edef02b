package admission_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/test/kit"
)

// BenchmarkUpload measures the time to admit an upload with all options, and to admit the same document without
// options.
func BenchmarkUpload(b *testing.B) {
	tagged := kit.TaggedPages(50, 1)
	plain := kit.WithoutScript(tagged)
	for _, c := range []struct {
		name string
		file []byte
		opt  prepare.Options
		want bool
	}{
		{"plain", plain, prepare.Options{}, false},
		{"all", tagged, prepare.Options{Tags: prepare.TagsDetect, Form: prepare.FormImport}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				_, rev, err := admission.AdmitPrepared(b.Context(), bytes.NewReader(c.file), int64(len(c.file)), sha256.Sum256(c.file), admission.DefaultLimits(), c.opt)
				require.NoError(b, err)
				require.Equal(b, c.want, rev != nil)
			}
		})
	}
}
