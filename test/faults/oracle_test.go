package faults_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/inbox"
	"countersign/models"
	"countersign/seal/trust"
	"countersign/seal/verify"
)

// acknowledgements lists the events that are sent to webhooks.
var acknowledgements = models.WebhookEvents

// terminal maps the events that close an envelope to its resulting status.
var terminal = map[models.EventName]models.Status{
	models.EventEnvelopeCompleted: models.StatusCompleted, models.EventEnvelopeDeclined: models.StatusDeclined,
	models.EventEnvelopeVoided: models.StatusVoided, models.EventEnvelopeExpired: models.StatusExpired,
}

// check is the oracle. It waits for the service to catch up, and then checks that every acknowledged call has taken
// effect. Each of the given paths of the sink must have received all events.
func (w *scenario) check(paths ...string) {
	w.t.Helper()
	require.NotEmpty(w.t, w.envelopes)
	for _, e := range w.envelopes {
		if e.signed() == len(e.signers) {
			eventually(w.t, func() bool { return w.status(e) == models.StatusCompleted }, "envelope %s was signed by all signers, but is %s", e.id, w.status(e))
		}
	}
	eventually(w.t, func() bool { return w.count("SELECT count(*) FROM outbox") == 0 }, "the outbox is not empty")
	for _, e := range w.envelopes {
		w.checkEnvelope(e, paths)
	}
	w.checkMails()
}

func (w *scenario) status(e *envelope) (s models.Status) {
	w.t.Helper()
	require.NoError(w.t, w.db.QueryRow(w.t.Context(), "SELECT status FROM envelopes WHERE id = $1", e.id).Scan(&s))
	return s
}

// checkEnvelope compares an envelope with the responses that its client received.
func (w *scenario) checkEnvelope(e *envelope, paths []string) {
	w.t.Helper()
	t := w.t
	env, events, err := w.store.EnvelopeWithEvents(t.Context(), w.appID, uuid.MustParse(e.id))
	require.NoError(t, err)
	require.NoError(t, models.VerifyChain(events, env.AuditSeq, env.AuditHead), "envelope %s", e.id)

	checkDisplayed(t, e.id, events)

	n := map[string]int{}
	var ends []models.Status
	for _, ev := range events {
		n[fmt.Sprint(ev.Name, " ", ev.Detail["signerId"])]++
		n[string(ev.Name)]++
		if s, ok := terminal[ev.Name]; ok {
			ends = append(ends, s)
		}
	}
	if env.Status.Terminal() {
		assert.Equal(t, []models.Status{env.Status}, ends, "envelope %s must end exactly once, as its state shows", e.id)
	} else {
		assert.Empty(t, ends, "envelope %s is still open", e.id)
	}
	for i, s := range e.signers {
		signed := n[fmt.Sprint(models.EventSignerSigned, " ", s.id)]
		assert.LessOrEqual(t, signed, 1, "signer %d of %s must have signed once", i, e.id)
		if e.has(fmt.Sprintf("sign %d", i)) {
			assert.Equal(t, 1, signed, "the acknowledged signature %d of %s must be recorded", i, e.id)
			assert.Equal(t, models.SignerSigned, env.Signer(uuid.MustParse(s.id)).Status)
		}
		if e.has(fmt.Sprintf("decline %d", i)) {
			assert.Equal(t, models.StatusDeclined, env.Status, "envelope %s must be declined", e.id)
			assert.Equal(t, 1, n[fmt.Sprint(models.EventSignerDeclined, " ", s.id)])
		}
	}
	if e.has("void") {
		assert.Equal(t, models.StatusVoided, env.Status, "envelope %s must be voided", e.id)
	}
	if env.Status == models.StatusCompleted {
		w.checkSealed(e, env, events)
	} else {
		assert.Empty(t, w.sealedFiles(e), "envelope %s is %s, but sealed", e.id, env.Status)
	}
	for _, ev := range events {
		for _, path := range paths {
			if ev.Name.IsWebhookEvent() {
				w.checkDelivered(path, ev)
			}
		}
	}
}

// checkDelivered checks that the event was delivered at least once, always with the same body.
func (w *scenario) checkDelivered(path string, ev models.Event) {
	w.t.Helper()
	eventually(w.t, func() bool { return len(w.hooks.of(path, ev.ID.String())) > 0 }, "%s of %s was not delivered to %s", ev.Name, ev.EnvelopeID, path)
	for _, d := range w.hooks.of(path, ev.ID.String()) {
		assert.Contains(w.t, d.body, ev.EnvelopeID.String())
		assert.Equal(w.t, w.hooks.of(path, ev.ID.String())[0].body, d.body, "every delivery of an event must be the same")
	}
}

// sealedFiles returns the paths of an envelope's sealed files in the file store.
func (w *scenario) sealedFiles(e *envelope) []string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.files, "envelopes", e.id, "sealed", "*"))
	require.NoError(w.t, err)
	return files
}

// checkSealed checks that each document has exactly one sealed file, that this file contains every signature, and that
// the database, the audit chain and the API contain its hash.
func (w *scenario) checkSealed(e *envelope, env *models.Envelope, events []models.Event) {
	w.t.Helper()
	t := w.t
	require.Len(t, env.Sealed(), len(env.Originals()))
	eventually(t, func() bool { return len(w.sealedFiles(e)) == len(env.Originals()) }, "%s: one sealed file for each document", e.id)
	hashes := map[string]bool{}
	for _, ev := range events {
		if ev.Name == models.EventDocumentSealed {
			hashes[fmt.Sprint(ev.Detail["sha256"])] = true
		}
	}
	assert.Len(t, hashes, len(env.Originals()))
	a, err := w.client.do(http.MethodGet, "/v1/envelopes/"+e.id+"/document?kind=sealed", "", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	sum := sha256.Sum256(a.body)
	hash := hex.EncodeToString(sum[:])
	assert.Equal(t, env.Sealed()[0].SHA256, hash, "the hashes of file and database")
	assert.True(t, hashes[hash], "the hashes of file and audit chain")
	assert.Equal(t, hash, *env.HashFinal)

	pem, err := os.ReadFile(filepath.Join(failpointKeys, "seal.ca.pem"))
	require.NoError(t, err)
	authorities, err := trust.ParseAuthorities(pem)
	require.NoError(t, err)
	report, err := verify.File(t.Context(), bytes.NewReader(a.body), int64(len(a.body)), verify.Options{
		Now: clock, Trust: trust.Policy{Sealers: []trust.Sealer{trust.IssuedBy(authorities[0], "")}},
	})
	require.NoError(t, err)
	assert.True(t, report.OK(), "%s verifies: %+v", e.id, report.Findings)
	// The chain in the record ends with the event before document.sealed.
	at := slices.IndexFunc(events, func(ev models.Event) bool { return ev.Name == models.EventDocumentSealed })
	assert.Equal(t, at, report.Events, "the seal must contain the whole audit trail")
	assert.Equal(t, events[at].PrevHash, report.ChainHead)
	for _, ev := range events[at:] {
		assert.NotEqual(t, models.EventSignerSigned, ev.Name, "every signature must precede the seal")
	}
	for _, s := range e.signers {
		if len(s.fields) > 0 {
			assert.Contains(t, w.text(a.body), value(s.id), "the file must contain the signed values")
		}
	}
}

// mails returns all emails in the inbox by Message-ID.
func (w *scenario) mails() map[string][]inbox.Message {
	out := map[string][]inbox.Message{}
	for _, m := range w.inbox.List(inbox.Filter{Limit: 1000}) {
		out[m.MessageID] = append(out[m.MessageID], m)
	}
	return out
}

// checkMails checks that every signer received a copy, and that no email arrived twice unless a fault interrupted its
// sending.
func (w *scenario) checkMails() {
	w.t.Helper()
	for _, e := range w.envelopes {
		if w.status(e) != models.StatusCompleted {
			continue
		}
		want := len(e.signers)
		if e.copyID != "" {
			want++
		}
		eventually(w.t, func() bool {
			return w.count("SELECT count(*) FROM mails WHERE envelope_id = $1 AND kind = 'completed' AND sent_at IS NOT NULL AND request_id IS NULL", e.id) == want
		}, "not every signer received a copy of %s", e.id)
	}
	w.smtp.mu.Lock()
	ambiguous := w.smtp.dropped
	w.smtp.mu.Unlock()
	ambiguous += w.cutOff
	for id, all := range w.mails() {
		extra := len(all) - 1
		ambiguous -= extra
		assert.GreaterOrEqual(w.t, ambiguous, 0, "email %s (%s) was sent %d times", id, all[0].Subject, len(all))
	}
}

// text returns the visible text of a PDF.
func (w *scenario) text(pdf []byte) string {
	w.t.Helper()
	return strings.Join(strings.Fields(tool(w.t, pdf, "pdftotext", "-", "-")), " ")
}

func tool(t *testing.T, stdin []byte, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
	return string(out)
}

func idOf(e *envelope) uuid.UUID { return uuid.MustParse(e.id) }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// sealedHash returns the hash of the sealed document according to the database.
func (w *scenario) sealedHash(e *envelope) (hash string) {
	w.t.Helper()
	require.NoError(w.t, w.db.QueryRow(w.t.Context(), "SELECT sha256 FROM documents WHERE envelope_id = $1 AND kind = 'sealed'", e.id).Scan(&hash))
	return hash
}

// downloadLink returns the token of a download link in an email, or an empty string if there is none yet.
func (w *scenario) downloadLink() string {
	for _, m := range w.inbox.List(inbox.Filter{}) {
		full, err := w.inbox.Get(m.ID)
		if err != nil {
			continue // the file was removed in the meantime
		}
		for _, l := range full.Links {
			if _, token, ok := strings.Cut(l, "/download/"); ok {
				return token
			}
		}
	}
	return ""
}
