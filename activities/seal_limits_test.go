package activities_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
	"countersign/seal"
	"countersign/seal/limits"
	"countersign/seal/picture"
	"countersign/seal/sealkey"
	"countersign/seal/verify"
	"countersign/test/kit"
)

// fullEnvelope builds an envelope that is filled up to its limits, in the form in which the store would load it.
type fullEnvelope struct {
	t        *testing.T
	r        *rand.Rand
	now      time.Time
	e        *models.Envelope
	log      []models.Event
	values   []models.FieldValue
	files    []seal.AttachedFile
	pictures []picture.Picture
	squares  map[int]picture.Picture // noise by side length
	rejected map[string]int          // number of rejections by code
}

// heavyAgent is the user agent that takes up the most space in JSON.
var heavyAgent = strings.Repeat(`"`, 512)

func newFullEnvelope(t *testing.T, seed uint64) *fullEnvelope {
	t.Helper()
	c := &fullEnvelope{t: t, r: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC), rejected: map[string]int{}, squares: map[int]picture.Picture{}}
	e, err := models.NewEnvelope(c.act("app:"+uuid.NewString()), models.Envelope{
		AppID: uuid.New(), TenantID: strings.Repeat("&", 255), CreatedBy: strings.Repeat("<", 255), Subject: new(strings.Repeat("&", 255)),
	})
	require.NoError(t, err)
	c.e = e
	return c
}

func (c *fullEnvelope) act(actor string) models.ActionContext {
	return models.ActionContext{At: c.now, Actor: actor, IP: "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", UserAgent: heavyAgent, NewID: newID}
}

func (c *fullEnvelope) app() models.ActionContext { return c.act("app:" + uuid.Nil.String()) }

func (c *fullEnvelope) signer(s *models.Signer) (models.ActionContext, models.Link) {
	return c.act(models.SignerActor(s.ID)), models.Link{EnvelopeID: c.e.ID, SignerID: s.ID, ID: *s.LinkID}
}

// try applies a change to the envelope atomically, like store.Change. It reports whether the change was accepted.
func (c *fullEnvelope) try(fn func(*models.Envelope) error) bool {
	c.t.Helper()
	e := *c.e
	for _, list := range []*[]*models.Signer{&e.Signers, &e.Copies} {
		out := make([]*models.Signer, len(*list))
		for i, s := range *list {
			copied := *s
			out[i] = &copied
		}
		*list = out
	}
	e.Fields, e.Documents = append([]*models.Field{}, e.Fields...), append([]*models.Document{}, e.Documents...)
	err := fn(&e)
	if err == nil {
		err = e.Chain()
	}
	if err != nil {
		var rejected *models.Error
		require.ErrorAs(c.t, err, &rejected)
		c.rejected[rejected.Code]++
		return false
	}
	c.log, c.values = append(c.log, e.Events...), append(c.values, e.Values...)
	e.Events, e.Values, e.Attached, e.Adopted = nil, nil, nil, nil
	c.e = &e
	return true
}

// until repeats fn up to n times, but stops when fn is rejected. It returns the number of accepted calls.
func (c *fullEnvelope) until(n int, fn func(e *models.Envelope, i int) error) (done int) {
	c.t.Helper()
	for done < n && c.try(func(e *models.Envelope) error { return fn(e, done) }) {
		done++
	}
	return done
}

// noise returns an incompressible picture.
func (c *fullEnvelope) noise(w, h int) picture.Picture {
	c.t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := 0; i < len(img.Pix); i += 4 {
		v := c.r.Uint32()
		img.SetNRGBA(i/4%w, i/4/w, color.NRGBA{byte(v), byte(v >> 8), byte(v >> 16), byte(v>>24) | 1})
	}
	var b bytes.Buffer
	require.NoError(c.t, png.Encode(&b, img))
	var p picture.Checker
	out, err := p.Check(b.Bytes())
	require.NoError(c.t, err)
	return out
}

// square returns a cached square noise picture.
func (c *fullEnvelope) square(side int) picture.Picture {
	c.t.Helper()
	if _, ok := c.squares[side]; !ok {
		c.squares[side] = c.noise(side, side)
	}
	return c.squares[side]
}

// prepare creates and sends the envelope, with up to the given numbers of signers and fields of each kind.
func (c *fullEnvelope) prepare(original []byte, signers, texts, files int) {
	c.t.Helper()
	sum := sha256.Sum256(original)
	require.True(c.t, c.try(func(e *models.Envelope) error {
		_, err := e.AddDocument(c.app(), models.DocumentInput{Document: models.Document{
			Name: strings.Repeat("&", 100), SHA256: hex.EncodeToString(sum[:]), PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "x",
		}}, 50)
		return err
	}))
	c.until(signers, func(e *models.Envelope, i int) error {
		_, err := e.AddSigner(c.app(), models.SignerInput{
			Name: strings.Repeat("<", 255), Email: fmt.Sprintf("%s%d@%s.example", strings.Repeat("a", 60), i, strings.Repeat("b", 60)), RoutingOrder: i + 1,
			AuthMethod: models.AuthEmailOTP, AllowDelegation: true,
		})
		return err
	})
	n := len(c.e.Signers)
	fields := func(most, step int, newField func(i int) models.FieldInput) int {
		return step * c.until(most/step, func(e *models.Envelope, i int) error {
			ins := []models.FieldInput{}
			for k := i * step; k < (i+1)*step; k++ {
				in := newField(k)
				in.SignerRef, in.Page, in.Origin = e.Signers[k%n].ID.String(), 1, models.OriginTopLeft
				in.X, in.Y, in.W, in.H = 5, 5, 585, 830
				ins = append(ins, in)
			}
			_, err := e.AddFields(c.app(), ins, func(i int) string { return models.IndexedPath(i) })
			return err
		})
	}
	require.Equal(c.t, 2*n, fields(2*n, n, func(i int) models.FieldInput {
		return models.FieldInput{Type: []models.FieldType{models.FieldSignature, models.FieldInitial}[i/n], Required: true}
	}))
	fields(files, 1+files/10, func(int) models.FieldInput { return models.FieldInput{Type: models.FieldAttachment} })
	fields(texts, 1+texts/20, func(i int) models.FieldInput {
		in := models.FieldInput{Type: models.FieldText, Name: fmt.Sprintf("%060d", i)}
		in.Attributes.Multiline = true
		return in
	})
	require.True(c.t, c.try(func(e *models.Envelope) error { return e.Send(c.app(), nil) }), "%v", c.rejected)
}

// sign performs every accepted action of a signer, and signs with the largest accepted values.
func (c *fullEnvelope) sign(i int) {
	c.t.Helper()
	at := func(e *models.Envelope) (models.ActionContext, models.Link) { return c.signer(e.Signers[i]) }
	require.True(c.t, c.try(func(e *models.Envelope) error { act, l := at(e); _, err := e.Open(act, l); return err }), "%v", c.rejected)
	reason := strings.Repeat("<", 1000)
	c.try(func(e *models.Envelope) error {
		act, l := at(e)
		_, err := e.Delegate(act, l, models.Replacement{Name: strings.Repeat("&", 255), Email: fmt.Sprintf("d%d@example.com", i), Reason: &reason})
		return err
	})
	hash := []byte("hash")
	require.Positive(c.t, c.until(1+c.r.IntN(40), func(e *models.Envelope, _ int) error {
		c.now = c.now.Add(models.OTPRequestWindow / models.OTPRequestLimit)
		act, l := at(e)
		_, err := e.RequestCode(act, l, hash)
		return err
	}), "%v", c.rejected)
	verified := c.try(func(e *models.Envelope) error {
		act, l := at(e)
		ok, err := e.VerifyCode(act, l, hash, nil)
		if !ok && err == nil {
			err = models.Reject(models.KindInvalid, "wrong_code", "")
		}
		return err
	})
	require.True(c.t, verified, "a signer can always be authenticated: %v", c.rejected)
	require.Equal(c.t, 60, c.until(60, func(e *models.Envelope, _ int) error {
		act, l := at(e)
		return e.ViewPage(act, l, e.Originals()[0].ID, 1, 24*60*60*1000, nil)
	}), "page views are always accepted")
	require.True(c.t, c.try(func(e *models.Envelope) error {
		act, l := at(e)
		_, err := e.Consent(act, l, new(models.Signer).Disclosure("en"))
		return err
	}))
	require.True(c.t, c.try(func(e *models.Envelope) error { act, l := at(e); _, err := e.RecordDisplayedValues(act, l); return err }))
	for _, part := range []int{1, 2, 5, 20, 60, 0} { // after a rejection, smaller values are tried
		if c.try(func(e *models.Envelope) error {
			act, l := at(e)
			_, err := e.Sign(act, l, c.submission(e, e.Signers[i], part))
			return err
		}) {
			return
		}
	}
	c.t.Fatalf("signer %d cannot sign with any values: %v", i, c.rejected)
}

// submission returns a signer's values. The texts and pictures have the maximum size divided by part, or the minimum
// size if part is zero. Values of the minimum size are always accepted.
func (c *fullEnvelope) submission(e *models.Envelope, s *models.Signer, part int) models.Submission {
	c.t.Helper()
	text, picture := `"w "w "w `, c.square(50)
	if part > 0 {
		text, picture = strings.Repeat("漢<", 1000/part), c.square(min(1000/part, 700))
	}
	if part == 1 {
		picture = c.pictures[c.r.IntN(len(c.pictures))]
	}
	sub := models.Submission{}
	for _, f := range e.Fields {
		if f.SignerID != s.ID {
			continue
		}
		in := models.FieldSubmission{FieldID: f.ID}
		switch {
		case f.Type.Image():
			in.Image, in.ImageSize = picture.PNG, picture.Size
		case f.Type == models.FieldAttachment:
			in.Attachment = c.attach(f)
			in.AttachmentID = &in.Attachment.ID
		default:
			in.Text = &text
		}
		sub.Fields = append(sub.Fields, in)
	}
	return sub
}

func (c *fullEnvelope) attach(f *models.Field) *models.Attachment {
	content := []byte("file of " + f.ID.String())
	sum := sha256.Sum256(content)
	a := &models.Attachment{
		ID: newID(), EnvelopeID: c.e.ID, FieldID: f.ID, SignerID: f.SignerID, Name: models.AttachmentName(strings.Repeat("&", 200), "application/pdf"), MimeType: "application/pdf",
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)),
	}
	c.files = append(c.files, seal.AttachedFile{
		ID: a.ID.String(), FieldID: f.ID.String(), SignerID: f.SignerID.String(), Name: a.Name, MimeType: a.MimeType, SHA256: a.SHA256, Size: a.Size, Content: bytes.NewReader(content),
	})
	return a
}

// seal seals the document, and returns the size of the sealed file.
func (c *fullEnvelope) seal(original []byte) (size int64) {
	c.t.Helper()
	require.Equal(c.t, models.StatusSealing, c.e.Status)
	require.NoError(c.t, models.VerifyChain(c.log, c.e.AuditSeq, c.e.AuditHead))
	job, err := activities.NewSealJob(c.e, c.values, c.log)
	require.NoError(c.t, err)
	d := c.e.Originals()[0]
	job.Original, job.Size, job.OriginalSHA256 = bytes.NewReader(original), int64(len(original)), d.SHA256
	job.Document, job.SealedAt, job.VerifyURL = job.Documents[0], c.now, "https://example.com/verify"
	used := map[string]bool{} // the values of rejected submissions are not signed
	for _, ev := range c.log {
		if id, ok := ev.Detail["attachmentId"].(string); ok {
			used[id] = true
		}
	}
	for _, f := range c.files {
		if used[f.ID] {
			job.Attachments = append(job.Attachments, f)
		}
	}
	listed := 0
	for _, ev := range job.Events {
		listed += limits.Embedded(ev) + 1
	}
	assert.LessOrEqual(c.t, listed, c.e.Used.Trail, "no event may exceed its counted size")
	out, err := os.CreateTemp(c.t.TempDir(), "sealed")
	require.NoError(c.t, err)
	defer func() { _ = out.Close() }()
	res, err := newRealSealer(c.t, c.now).Seal(c.t.Context(), out, job)
	require.NoError(c.t, err, "all accepted entries can be sealed: %+v", c.e.Used)
	x, err := verify.Examine(c.t.Context(), out, res.Size)
	require.NoError(c.t, err)
	record := x.Report(verify.Options{Now: func() time.Time { return c.now }}).Record
	require.NotNil(c.t, record)
	assert.Len(c.t, record.Events, len(c.log))
	assert.Len(c.t, record.Values, len(c.values))
	return res.Size
}

func newRealSealer(t *testing.T, now time.Time) *seal.Sealer {
	t.Helper()
	ca, cert, key, err := sealkey.SelfSigned("Countersign", now, crand.Reader)
	require.NoError(t, err)
	signer, chain, err := sealkey.LoadPEM(append(cert, ca...), key)
	require.NoError(t, err)
	record, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	require.NoError(t, err)
	s, err := seal.New(seal.Config{
		Signer: signer, Chain: chain, ManifestSigner: record, ManifestKeyID: "k1", ServiceName: "Countersign", Now: func() time.Time { return now }, Rand: crand.Reader,
	})
	require.NoError(t, err)
	return s
}

// TestSeal_EnvelopeAtAllLimits checks that an envelope with the maximum number of signers, fields, values and
// events is sealed.
func TestSeal_EnvelopeAtAllLimits(t *testing.T) {
	t.Parallel()
	c, original := newFullEnvelope(t, 1), kit.OnePage()
	for range 4 {
		c.pictures = append(c.pictures, c.noise(700, 700))
	}
	c.prepare(original, models.MaxSigners, 600, 200)
	n := len(c.e.Signers)
	require.Equal(t, models.MaxSigners, n)
	reason := strings.Repeat(`"`, 1000)
	for i := range n {
		if i%10 == 0 { // the sender uses the remaining capacity of the audit trail
			c.until(1000, func(e *models.Envelope, k int) error {
				if k%10 > 0 || k > 150 {
					_, err := e.IssueLink(c.app(), e.Signers[i].ID, k%2 == 0)
					return err
				}
				_, err := e.Replace(c.app(), e.Signers[i].ID, models.Replacement{Name: strings.Repeat(">", 255), Email: fmt.Sprintf("r%d@example.com", k), Reason: &reason})
				return err
			})
		}
		c.sign(i)
	}
	size := c.seal(original)
	t.Logf("%d fields, %d events, %d values, used %+v, refused %v: %d KB", len(c.e.Fields), len(c.log), len(c.values), c.e.Used, c.rejected, size>>10)
	for _, code := range []string{"audit_trail_full", "validation_error"} {
		assert.Positive(t, c.rejected[code], "the limit was reached: %s", code)
	}
	assert.Greater(t, c.e.Used.Pictures, limits.Pictures*6/10)
	assert.Greater(t, c.e.Used.Texts, limits.Texts*6/10)
}

// TestSeal_EveryAcceptedEnvelope checks that an envelope is sealed for every accepted distribution of values among its
// signers.
func TestSeal_EveryAcceptedEnvelope(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		c, original := newFullEnvelope(t, seed+2), kit.OnePage()
		c.pictures = append(c.pictures, c.noise(100+c.r.IntN(600), 700), c.noise(300, 60))
		c.prepare(original, 1+c.r.IntN(8), c.r.IntN(60), c.r.IntN(10))
		for i := range c.e.Signers {
			c.until(c.r.IntN(20), func(e *models.Envelope, _ int) error {
				_, err := e.IssueLink(c.app(), e.Signers[i].ID, true)
				return err
			})
			c.sign(i)
		}
		c.seal(original)
	}
}
