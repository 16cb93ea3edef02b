package models_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestNothingIsCompletedWithoutItsSealedFiles: every document must have one.
func TestNothingIsCompletedWithoutItsSealedFiles(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	_, err := e.AddDocument(act(start), page(), 2)
	require.NoError(t, err)
	require.NoError(t, e.Send(act(start), nil))
	signs(t, e, 0, start)
	file := func(i int) models.SealedFile {
		return models.SealedFile{OriginalID: e.Originals()[i].ID, SHA256: fmt.Sprintf("%064d", i), PageCount: 3}
	}
	for _, files := range [][]models.SealedFile{nil, {file(0)}, {file(1)}, {file(0), file(0)}, {file(0), {OriginalID: uuid.New()}}} {
		assert.Equal(t, "document_not_sealed", code(t, e.Complete(act(start), files)))
		assert.Equal(t, models.StatusSealing, e.Status)
		assert.Empty(t, e.Sealed())
		assert.Nil(t, e.CompletedAt)
	}
	require.NoError(t, e.Complete(act(start), []models.SealedFile{file(1), file(0)}))
	assert.Len(t, e.Sealed(), 2)
}

// TestAnothersFieldIsNamed: also beside one's own, which are all right.
func TestAnothersFieldIsNamed(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1)
	_, err := e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	for name, bad := range map[string]models.FieldSubmission{
		"another's": text(e, 1, "mine now").Fields[0], "nobody's": {FieldID: uuid.New()}, "given twice": text(e, 0, "no").Fields[0],
	} {
		sub := text(e, 0, "yes")
		sub.Fields = append(sub.Fields, bad)
		_, err = e.Sign(act(start), link(e, 0), sub)
		var refusal *models.Error
		require.ErrorAs(t, err, &refusal, name)
		require.Len(t, refusal.Fields, 1, name)
		assert.Contains(t, refusal.Fields, "fields[1].fieldId", name)
		assert.Empty(t, e.Values, name)
	}
}

// signature is an envelope whose one signer is to draw a signature.
func signature(t *testing.T, method models.AuthMethod) (*models.Envelope, models.Submission) {
	t.Helper()
	e := draft(t, nil, method)
	s, err := e.AddSigner(act(start), signer(0, 1, method))
	require.NoError(t, err)
	fields, err := e.AddFields(act(start), []models.FieldInput{field(s.ID.String(), models.FieldSignature)}, models.NoPrefix)
	require.NoError(t, err)
	require.NoError(t, e.Send(act(start), nil))
	if method != models.AuthNone {
		_, err = e.RequestCode(act(start), link(e, 0), []byte("right"))
		require.NoError(t, err)
		ok, err := e.VerifyCode(act(start), link(e, 0), []byte("right"), nil)
		require.NoError(t, err)
		require.True(t, ok)
	}
	_, err = e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	return e, models.Submission{Fields: []models.FieldSubmission{{FieldID: fields[0].ID, Image: []byte("a picture")}}}
}

// TestOnlyWhoProvedToBeThePersonSavesASignature: it is offered to that person later.
func TestOnlyWhoProvedToBeThePersonSavesASignature(t *testing.T) {
	t.Parallel()
	e, sub := signature(t, models.AuthNone)
	_, err := e.Sign(act(start), link(e, 0), sub)
	require.NoError(t, err)
	assert.Nil(t, e.Adopted, "whoever held the link")

	e, sub = signature(t, models.AuthEmailOTP)
	_, err = e.Sign(act(start), link(e, 0), sub)
	require.NoError(t, err)
	require.NotNil(t, e.Adopted)
	assert.Equal(t, models.SavedSignature{
		AppID: e.AppID, TenantID: "t1", AuthMethod: models.AuthEmailOTP, Email: "s0@example.com", Image: []byte("a picture"), UpdatedAt: start,
	}, *e.Adopted)
}

// TestTheAuditTrailBindsPictures: as it does texts.
func TestTheAuditTrailBindsPictures(t *testing.T) {
	t.Parallel()
	e, sub := signature(t, models.AuthNone)
	s, err := e.Sign(act(start), link(e, 0), sub)
	require.NoError(t, err)
	picture := sha256.Sum256([]byte("a picture"))
	all := sha256.Sum256(fmt.Appendf(nil, "%s %s\n", e.Fields[0].ID, hex.EncodeToString(picture[:])))
	assert.Equal(t, hex.EncodeToString(all[:]), s.ValuesHash)
	assert.Equal(t, hex.EncodeToString(picture[:]), e.Values[0].ImageSHA256)
	last := e.Events[len(e.Events)-1]
	for i := range e.Events {
		if e.Events[i].Name == models.EventSignerSigned {
			last = e.Events[i]
		}
	}
	assert.Equal(t, s.ValuesHash, last.Detail["valuesSha256"])
}

// TestEveryMemberOfAnEventIsHashed: whatever of it is changed, its hash is another.
func TestEveryMemberOfAnEventIsHashed(t *testing.T) {
	t.Parallel()
	e := chainedEvents(t)
	whole := e.Events[3]
	was, err := whole.Digest()
	require.NoError(t, err)
	require.Equal(t, whole.Hash, was)
	other := "203.0.113.9"
	for name, change := range map[string]func(*models.Event){
		"id": func(ev *models.Event) { ev.ID = uuid.New() }, "envelope": func(ev *models.Event) { ev.EnvelopeID = uuid.New() },
		"number": func(ev *models.Event) { ev.Seq++ }, "name": func(ev *models.Event) { ev.Name = models.EventEnvelopeVoided },
		"time": func(ev *models.Event) { ev.Timestamp = ev.Timestamp.Add(time.Microsecond) }, "actor": func(ev *models.Event) { ev.Actor += "x" },
		"address": func(ev *models.Event) { ev.IP = &other }, "no address": func(ev *models.Event) { ev.IP = nil },
		"user agent": func(ev *models.Event) { ev.UserAgent = &other }, "detail": func(ev *models.Event) { ev.Detail = models.Detail{"x": 1} },
		"the one before": func(ev *models.Event) { ev.PrevHash = models.ChainStart },
	} {
		ev := whole
		change(&ev)
		now, err := ev.Digest()
		require.NoError(t, err)
		assert.NotEqual(t, was, now, name)
	}
}

// TestTheChainIsAsLongAsWasRecorded: a number that does not fit is found, too.
func TestTheChainIsAsLongAsWasRecorded(t *testing.T) {
	t.Parallel()
	e := chainedEvents(t)
	require.NoError(t, models.VerifyChain(e.Events, e.AuditSeq, e.AuditHead))
	for _, n := range []int64{e.AuditSeq - 1, e.AuditSeq + 1, 0} {
		require.Error(t, models.VerifyChain(e.Events, n, e.AuditHead))
	}
	require.NoError(t, models.VerifyChain(nil, 0, models.ChainStart))
	require.Error(t, models.VerifyChain(nil, 1, models.ChainStart))
}
