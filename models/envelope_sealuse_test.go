package models_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/seal/limits"
)

// TestEnvelope_TooLargeToSeal_IsRejected checks that an envelope that is too large to be sealed is rejected, and
// that the error names the member that exceeds the limit.
func TestEnvelope_TooLargeToSeal_IsRejected(t *testing.T) {
	t.Parallel()
	app := act(start)
	app.Actor = models.AppActor(uuid.Nil)
	add := func(e *models.Envelope, signers, fields int, newField func(int) models.FieldInput) error {
		for i := range signers {
			_, err := e.AddSigner(app, models.SignerInput{Name: "N", Email: fmt.Sprintf("a%d@example.com", i), RoutingOrder: 1, AuthMethod: models.AuthNone})
			require.NoError(t, err)
		}
		ins := []models.FieldInput{}
		for i := range fields {
			in := newField(i)
			in.SignerRef, in.Page, in.X, in.Y, in.W, in.H, in.Origin = "0", 1, 1, 1, 100, 20, models.OriginTopLeft
			ins = append(ins, in)
		}
		if _, err := e.AddFields(app, ins, models.IndexedPath); err != nil {
			return err
		}
		return e.Chain()
	}
	for name, tt := range map[string]struct {
		signers, fields int
		make            func(int) models.FieldInput
		ok              bool
	}{
		"as many plain fields and signers as there may be": {100, models.MaxFields, func(int) models.FieldInput { return models.FieldInput{Type: models.FieldText} }, true},
		"attachment fields":          {1, 1000, func(int) models.FieldInput { return models.FieldInput{Type: models.FieldAttachment} }, true},
		"too many attachment fields": {100, models.MaxFields, func(int) models.FieldInput { return models.FieldInput{Type: models.FieldAttachment} }, false},
		"long default values": {1, models.MaxFields, func(i int) models.FieldInput {
			return models.FieldInput{Type: models.FieldText, Name: fmt.Sprint("f", i), DefaultValue: strings.Repeat("d", 2000)}
		}, false},
	} {
		e := draft(t, nil, models.AuthNone)
		err := add(e, tt.signers, tt.fields, tt.make)
		if tt.ok {
			require.NoError(t, err, name)
			continue
		}
		var rejected *models.Error
		require.ErrorAs(t, err, &rejected, name)
		assert.Equal(t, "envelope_too_large", rejected.Code, name)
		assert.Contains(t, rejected.Fields, "fields", name)
	}
}

// TestSigners_LeaveCapacityForOthers checks that signers whose values are as large as permitted leave enough capacity
// for later signers.
func TestSigners_LeaveCapacityForOthers(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1, 1, 1)
	for _, s := range e.Signers {
		_, err := e.AddFields(act(start), []models.FieldInput{field(s.ID.String(), models.FieldSignature)}, models.IndexedPath)
		require.NoError(t, err)
	}
	require.NoError(t, e.Send(act(start), nil))
	yes := "yes"
	sign := func(i, size, copies int) error {
		act := act(start)
		if e.Signers[i].ConsentAt == nil {
			_, err := e.Consent(act, link(e, i), new(models.Signer).Disclosure("en"))
			require.NoError(t, err)
		}
		sub := models.Submission{}
		for _, f := range e.Fields {
			if f.SignerID == e.Signers[i].ID && f.Type.Image() {
				sub.Fields = append(sub.Fields, models.FieldSubmission{FieldID: f.ID, Image: make([]byte, copies), ImageSize: size})
			} else if f.SignerID == e.Signers[i].ID {
				sub.Fields = append(sub.Fields, models.FieldSubmission{FieldID: f.ID, Text: &yes})
			}
		}
		require.NotEmpty(t, sub.Fields)
		_, err := e.Sign(act, link(e, i), sub)
		return err
	}
	rejected := func(err error) string {
		var rejected *models.Error
		require.ErrorAs(t, err, &rejected)
		require.Equal(t, models.KindInvalid, rejected.Kind)
		return strings.Join(rejected.Fields["fields"], " ")
	}
	assert.Contains(t, rejected(sign(0, limits.Pictures, 10)), "the images are 32768 KiB in total, but the sealed documents can contain only 32512 KiB")
	assert.Contains(t, rejected(sign(0, 10, limits.Copies+1)), "the limit is 32 MiB")
	require.NoError(t, sign(0, limits.Pictures-2*128<<10, limits.Copies))
	assert.Contains(t, rejected(sign(1, 200<<10, 10)), "can contain only 128 KiB")
	require.NoError(t, sign(1, 128<<10, 10))
	require.NoError(t, sign(2, 128<<10, 10))
}

// TestSign_TextsBeyondTheCapacity_AreRejected checks that texts that exactly fill the capacity are accepted, and that
// longer texts are rejected.
func TestSign_TextsBeyondTheCapacity_AreRejected(t *testing.T) {
	t.Parallel()
	for over, ok := range map[int]bool{0: true, 1: false} {
		e := sent(t, nil, models.AuthNone, 1)
		_, err := e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
		require.NoError(t, err)
		e.Used.Texts = limits.Texts - limits.JSON("yes") + over
		_, err = e.Sign(act(start), link(e, 0), text(e, 0, "yes"))
		if ok {
			require.NoError(t, err)
			continue
		}
		var rejected *models.Error
		require.ErrorAs(t, err, &rejected)
		require.Contains(t, strings.Join(rejected.Fields["fields"], " "), "the text values are 1 KiB in total, but the sealed documents can contain only 0 KiB")
		require.NotEqual(t, models.SignerSigned, e.Signers[0].Status)
	}
}

// TestFullAuditTrail_StopsOptionalEvents checks that a full audit trail prevents reminders, new links and further
// codes, but not signing.
func TestFullAuditTrail_StopsOptionalEvents(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	require.NoError(t, e.Chain())
	e.Events = nil
	var err error
	app := act(start)
	app.Actor = models.AppActor(uuid.Nil)
	reason, n := strings.Repeat("r", 1000), 0
	for ; err == nil && n < 40_000; n++ {
		_, err = e.IssueLink(app, e.Signers[0].ID, false)
		require.NoError(t, err)
		err = e.Chain()
		e.Events = nil
	}
	assert.Equal(t, "audit_trail_full", code(t, err))
	assert.Greater(t, n, 10_000)
	_, err = e.Replace(app, e.Signers[0].ID, models.Replacement{Name: "New", Email: "new@example.com", Reason: &reason})
	require.NoError(t, err)
	require.ErrorIs(t, e.Chain(), &models.Error{Code: "audit_trail_full"})
	e.Events = nil
	assert.Nil(t, e.ReminderAt(e.Signers[0], nil, 1))
	assert.Nil(t, e.RenewLinkAt(e.Signers[0]))
	for i := range 6 {
		_, err = e.RequestCode(act(start.Add(time.Duration(i)*models.OTPRequestWindow)), link(e, 0), []byte("hash"))
		if i < 5 {
			require.NoError(t, err)
			require.NoError(t, e.Chain())
			e.Events = nil
		}
	}
	assert.Equal(t, "otp_locked", code(t, err))
}
