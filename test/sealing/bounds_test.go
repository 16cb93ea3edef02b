package sealing_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
	"countersign/test/kit/sealkit"
)

// TestLongestText checks the maximum length of a field's value.
func TestLongestText(t *testing.T) {
	t.Parallel()
	require.NoError(t, seal.CheckText(strings.Repeat("ä", 4000)))
	var rejected *rejection.Error
	require.ErrorAs(t, seal.CheckText(strings.Repeat("ä", 4001)), &rejected)
	require.Equal(t, rejection.TextTooLong, rejected.Code)
}

// prepared returns a description of the original as a prepared file, as modified by change.
func prepared(j *seal.Job, change func(p *seal.Prepared)) *seal.Prepared {
	p := &seal.Prepared{UploadSize: j.Size}
	p.SHA256, p.Size = j.OriginalSHA256, j.Size
	change(p)
	return p
}

// TestOriginalsThatAreAttached checks that the attached original of a rewritten file may be as large as an upload.
func TestOriginalsThatAreAttached(t *testing.T) {
	t.Parallel()
	original := sealkit.OpenEndedContents()
	s := sealkit.NewFixture(t).Sealer(t)
	for size, want := range map[int64]string{
		100 << 20:     "the sealed file does not verify", // the size is permitted, but the content differs from the record
		100<<20 + 1:   "the original is 104857601 bytes",
		math.MaxInt64: "the original is 9223372036854775807 bytes",
	} {
		p := manifest.Prepared{As: manifest.Rewritten, Changes: []prepare.Change{{Kind: "password_removed", Count: 1}}}
		j := preparedJob(t, original, original, p)
		j.Prepared.Upload, j.Prepared.UploadSize = zeros{}, size
		out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
		require.NoError(t, err)
		_, err = s.Seal(t.Context(), out, j)
		require.ErrorContains(t, err, want)
		require.NoError(t, out.Close())
	}
}

// TestJobsThatCannotBeSealed checks that invalid jobs are rejected before any bytes are written.
func TestJobsThatCannotBeSealed(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	for name, tt := range map[string]struct {
		change func(j *seal.Job)
		says   string
	}{
		"the original is missing":                {func(j *seal.Job) { j.Original = nil }, "the original is missing"},
		"an empty original":                      {func(j *seal.Job) { j.Size = 0 }, "the original is missing"},
		"no hash":                                {func(j *seal.Job) { j.OriginalSHA256 = "" }, "not a SHA-256 hash in lowercase hexadecimal"},
		"a hash too short":                       {func(j *seal.Job) { j.OriginalSHA256 = j.OriginalSHA256[1:] }, "not a SHA-256 hash in lowercase hexadecimal"},
		"a hash too long":                        {func(j *seal.Job) { j.OriginalSHA256 += "0" }, "not a SHA-256 hash in lowercase hexadecimal"},
		"a hash in capitals":                     {func(j *seal.Job) { j.OriginalSHA256 = strings.Repeat("A", 64) }, "not a SHA-256 hash in lowercase hexadecimal"},
		"a prepared file without a hash":         {func(j *seal.Job) { j.Prepared = prepared(j, func(p *seal.Prepared) { p.SHA256 = "" }) }, "description of the prepared file is missing"},
		"a prepared file of another size":        {func(j *seal.Job) { j.Prepared = prepared(j, func(p *seal.Prepared) { p.Size++ }) }, "description of the prepared file is missing"},
		"a prepared file of nothing":             {func(j *seal.Job) { j.Prepared = prepared(j, func(p *seal.Prepared) { p.UploadSize = 0 }) }, "description of the prepared file is missing"},
		"a rewritten file without what was sent": {func(j *seal.Job) { j.Prepared = prepared(j, func(p *seal.Prepared) { p.As = manifest.Rewritten }) }, "original of the rewritten file is missing"},
		"no envelope":                            {func(j *seal.Job) { j.Envelope.ID = "" }, "envelope and time"},
		"no time":                                {func(j *seal.Job) { j.SealedAt = time.Time{} }, "envelope and time"},
		"a field before the pages": {func(j *seal.Job) {
			j.Values[0].Page = 0
		}, "Field f1 is on page 0, but the document has 2 pages"},
		"a field behind the pages": {func(j *seal.Job) { j.Values[0].Page = 3 }, "Field f1 is on page 3, but the document has 2 pages"},
		"an unknown kind":          {func(j *seal.Job) { j.Values[0].Kind = "nonsense" }, `unknown field type "nonsense"`},
		"what no font can draw":    {func(j *seal.Job) { j.Values[1].Text = "a \U00030000" }, "Field f2: The character"},
		"no picture":               {func(j *seal.Job) { j.Values[0].PNG = []byte("GIF") }, "not a valid PNG"},
		"an event that is none":    {func(j *seal.Job) { j.Events[3] = []byte("[]") }, "event 4 of the audit chain"},
		"an encrypted original": {func(j *seal.Job) {
			b := bytes.Replace(sealkit.SimplePDF(2), []byte("/Root 1 0 R"), []byte("/Root 1 0 R/Encrypt<<>>"), 1)
			*j = sealkit.Job(t, b)
		}, "encrypted"},
		"a page tree that is none": {func(j *seal.Job) {
			*j = sealkit.Job(t, bytes.Replace(sealkit.SimplePDF(2), []byte("/Kids[10 0 R 12 0 R]"), []byte("/Kids(10 0 R 12 0 R)"), 1))
		}, "expected an array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := sealkit.Job(t, sealkit.SimplePDF(2))
			tt.change(&j)
			out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
			require.NoError(t, err)
			defer func() { require.NoError(t, out.Close()) }()
			_, err = s.Seal(t.Context(), out, j)
			require.ErrorContains(t, err, tt.says)
		})
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out.pdf"))
	require.NoError(t, err)
	defer func() { require.NoError(t, out.Close()) }()
	_, err = out.WriteString("x")
	require.NoError(t, err)
	_, err = s.Seal(t.Context(), out, sealkit.Job(t, sealkit.SimplePDF(1)))
	require.ErrorContains(t, err, "not empty")
}
