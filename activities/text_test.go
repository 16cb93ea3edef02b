package activities_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/models"
)

type texts struct{ sent []string }

func (x *texts) Send(_ context.Context, _, text string) error {
	x.sent = append(x.sent, text)
	return nil
}

// TestTextMessages: who proves by a text message to have the phone does not get
// the link by one, too; everybody else gets a short one that leads to the same.
func TestTextMessages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		phone := &texts{}
		h.SMS = phone
		e, in := h.sent("a@example.com", "b@example.com")
		number := "+442079460958"
		h.change(e, func(e *models.Envelope) error {
			for i, method := range []models.AuthMethod{models.AuthSMSOTP, models.AuthEmailOTP} {
				e.Signers[i].Phone, e.Signers[i].AuthMethod = &number, method
			}
			return nil
		})
		for _, s := range e.Signers {
			invite := activities.SignerInput{EnvelopeInput: in, SignerID: s.ID}
			require.NoError(h.t, h.Invite(h.t.Context(), invite))
			require.NoError(h.t, h.Invite(h.t.Context(), invite))
		}
		require.Len(h.t, phone.sent, 2, "each once")
		assert.NotContains(h.t, phone.sent[0], "https://")
		assert.Contains(h.t, phone.sent[0], "mail")
		short := h.Store.ShortLink(*e.Signers[1].LinkID)
		assert.Contains(h.t, phone.sent[1], "https://example.com/sign/"+short)
		assert.LessOrEqual(h.t, len(phone.sent[1]), 160, "one message")
		app, link, err := h.Store.LinkByShort(h.t.Context(), short)
		require.NoError(h.t, err)
		assert.Equal(h.t, h.app.ID, app)
		assert.Equal(h.t, models.Link{EnvelopeID: e.ID, SignerID: e.Signers[1].ID, ID: *e.Signers[1].LinkID}, link)
		_, _, err = h.Store.LinkByShort(h.t.Context(), h.Store.ShortLink(uuid.New()))
		require.ErrorIs(h.t, err, models.ErrNotFound)
	})
}
