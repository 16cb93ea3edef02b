package models_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"countersign/models"
)

func sha256Hex(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func chainedEvents(t require.TestingT) *models.Envelope {
	e := sent(t, nil, models.AuthNone, 1, 2)
	signs(t, e, 0, start)
	require.NoError(t, e.Chain())
	return e
}

func TestVerifyChain_DetectsTampering(t *testing.T) {
	t.Parallel()
	e := chainedEvents(t)
	require.NoError(t, models.VerifyChain(e.Events, e.AuditSeq, e.AuditHead))
	for name, tamper := range map[string]func([]models.Event) []models.Event{
		"edit":       func(ev []models.Event) []models.Event { ev[3].Actor = "somebody else"; return ev },
		"time":       func(ev []models.Event) []models.Event { ev[3].Timestamp = ev[3].Timestamp.Add(time.Second); return ev },
		"detail":     func(ev []models.Event) []models.Event { ev[1].Detail["pageCount"] = 3; return ev },
		"deletion":   func(ev []models.Event) []models.Event { return slices.Delete(ev, 2, 3) },
		"reordering": func(ev []models.Event) []models.Event { ev[2], ev[3] = ev[3], ev[2]; return ev },
		"truncation": func(ev []models.Event) []models.Event { return ev[:len(ev)-1] },
		"emptying":   func([]models.Event) []models.Event { return nil },
		"rewriting": func(ev []models.Event) []models.Event { // with recomputed hashes
			ev[3].Actor = "somebody else"
			prev := models.ChainStart
			for i := range ev {
				ev[i].PrevHash = prev
				ev[i].Hash, _ = ev[i].Digest()
				prev = ev[i].Hash
			}
			return ev
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied := chainCopy(t, e.Events)
			require.NoError(t, models.VerifyChain(copied, e.AuditSeq, e.AuditHead))
			require.Error(t, models.VerifyChain(tamper(copied), e.AuditSeq, e.AuditHead))
		})
	}
}

func chainCopy(t *testing.T, events []models.Event) []models.Event {
	t.Helper()
	b, err := json.Marshal(events)
	require.NoError(t, err)
	var out []models.Event
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	e := chainedEvents(t)
	b, err := e.Events[0].Canonical()
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(b, &m))
	assert.Equal(t, "2026-11-21T07:00:00.000000Z", m["timestamp"])
	assert.Equal(t, "envelope.created", m["event"])
	assert.EqualValues(t, 1, m["seq"])
	hash := m["hash"]
	delete(m, "hash")
	again, err := json.Marshal(m) // contains no number or character that RFC 8785 would encode differently
	require.NoError(t, err)
	assert.Equal(t, hash, sha256Hex(string(again)))
}

// TestRandomActions_KeepTheRules performs random actions in random order. It checks that an envelope reaches at most
// one final status and never leaves it, and that its audit chain and webhook events are correct.
func TestRandomActions_KeepTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 4).Draw(t, "groups")
		days := 1
		e := sent(t, &days, models.AuthNone, groups...)
		at := start
		var ended models.Status
		signed := 0
		step := func(do func() error) {
			before, seen := e.Status, len(e.Events)
			err := do()
			if before.Terminal() {
				require.Equal(t, before, e.Status, "terminal states allow no transition")
				require.Error(t, err)
			}
			if err != nil {
				require.Len(t, e.Events, seen, "a rejected action records no event")
				require.Equal(t, before, e.Status)
			}
			if e.Status.Terminal() && ended == "" {
				ended = e.Status
			}
			at = at.Add(time.Minute)
		}
		pick := func() int { return rapid.IntRange(0, len(e.Signers)-1).Draw(t, "signer") }
		t.Repeat(map[string]func(*rapid.T){
			"open": func(*rapid.T) { i := pick(); step(func() error { return ignoreRepeat(e.Open(act(at), link(e, i))) }) },
			"consent": func(*rapid.T) {
				i := pick()
				step(func() error {
					_, err := e.Consent(act(at), link(e, i), new(models.Signer).Disclosure("en"))
					return err
				})
			},
			"sign": func(*rapid.T) {
				i := pick()
				step(func() error {
					_, err := e.Sign(act(at), link(e, i), text(e, i, "v"))
					if err == nil {
						signed++
					}
					return err
				})
			},
			"decline": func(*rapid.T) {
				i := pick()
				step(func() error { _, err := e.Decline(act(at), link(e, i), nil, false); return err })
			},
			"void":   func(*rapid.T) { step(func() error { return e.Void(act(at), nil) }) },
			"wait":   func(*rapid.T) { at = at.Add(10 * time.Hour) },
			"expire": func(*rapid.T) { step(func() error { return e.Expire(act(at)) }) },
			"complete": func(*rapid.T) {
				step(func() error {
					return e.Complete(act(at), []models.SealedFile{{OriginalID: e.Originals()[0].ID, SHA256: "ff"}})
				})
			},
		})
		closing := map[models.EventName]models.Status{
			models.EventEnvelopeCompleted: models.StatusCompleted, models.EventEnvelopeDeclined: models.StatusDeclined,
			models.EventEnvelopeVoided: models.StatusVoided, models.EventEnvelopeExpired: models.StatusExpired,
		}
		n, signedEvents := 0, 0
		for i := range e.Events {
			ev := &e.Events[i]
			if s, ok := closing[ev.Name]; ok {
				n++
				require.Equal(t, ended, s)
			}
			if ev.Name == models.EventSignerSigned {
				signedEvents++
			}
			if ev.Name.IsWebhookEvent() {
				body, err := e.WebhookPayload(ev, "https://example.com", nil)
				require.NoError(t, err)
				var notice models.WebhookPayload
				require.NoError(t, json.Unmarshal(body, &notice))
				require.Equal(t, ev.Name, notice.Event)
				require.Equal(t, ev.ID, notice.ID)
			}
		}
		require.Equal(t, signed, signedEvents)
		if ended == "" {
			require.Zero(t, n)
		} else {
			require.Equal(t, 1, n, "there is one closing event")
			require.Equal(t, ended, e.Status)
		}
		require.NoError(t, e.Chain())
		require.NoError(t, models.VerifyChain(e.Events, e.AuditSeq, e.AuditHead))
	})
}

func ignoreRepeat(_ *models.Signer, err error) error { return err }

// TestServiceEvents_HaveNoAddress checks that events caused by the service itself contain no client address.
func TestServiceEvents_HaveNoAddress(t *testing.T) {
	t.Parallel()
	context := models.ActionContext{At: start, Actor: models.ActorSystem, NewID: uuid.New}
	e := sent(t, nil, models.AuthNone, 1)
	require.NoError(t, e.Invited(context, e.Signers[0].ID, false, "m"))
	assert.Nil(t, newest(e).IP)
	assert.Nil(t, newest(e).UserAgent)
	require.NoError(t, e.Invited(act(start), e.Signers[0].ID, false, "m"))
	assert.Equal(t, "192.0.2.1", *newest(e).IP)
	assert.Equal(t, "test", *newest(e).UserAgent)
}

// TestVerifyChain_ChecksNumbersAndLinks checks that a wrong sequence number or link is detected even if all hashes
// were recomputed.
func TestVerifyChain_ChecksNumbersAndLinks(t *testing.T) {
	t.Parallel()
	e := chainedEvents(t)
	forge := func(change func([]models.Event)) []models.Event {
		events := chainCopy(t, e.Events)
		change(events)
		for i := range events {
			hash, err := events[i].Digest()
			require.NoError(t, err)
			events[i].Hash = hash
			if i+1 < len(events) && events[i+1].PrevHash == e.Events[i].Hash {
				events[i+1].PrevHash = hash
			}
		}
		return events
	}
	verify := func(events []models.Event) error {
		return models.VerifyChain(events, int64(len(events)), events[len(events)-1].Hash)
	}
	require.NoError(t, verify(forge(func([]models.Event) {})))
	require.ErrorContains(t, verify(forge(func(events []models.Event) { events[2].Seq = 9 })), "event 3 is missing or out of order")
	require.ErrorContains(t, verify(forge(func(events []models.Event) { events[2].PrevHash = models.ChainStart })), "event 3 does not link")
}

// TestTimestamp_ChangesTheHash checks that a time-stamp changes the hash of its document and the combined hash.
func TestTimestamp_ChangesTheHash(t *testing.T) {
	t.Parallel()
	e := completed(t)
	d := e.Sealed()[0]
	until := start.AddDate(1, 0, 0)
	require.NoError(t, e.Timestamped(act(start), d.ID, "11", models.SealedFile{SHA256: "22", Size: 3, BlobKey: "stamped", TimestampedUntil: until}))
	assert.Equal(t, "22", *e.HashFinal)
	assert.False(t, d.TimestampPending)
	assert.Equal(t, until, *d.TimestampedUntil)
	assert.Equal(t, models.Detail{"sealedDocumentId": d.ID.String(), "sha256Before": "11", "sha256": "22", "documentHashFinal": "22"}, newest(e).Detail)

	e.Documents = append(e.Documents, &models.Document{ID: uuid.New(), Kind: models.DocumentSealed, SHA256: "33", Order: 2})
	require.NoError(t, e.Timestamped(act(start), e.Sealed()[1].ID, "33", models.SealedFile{SHA256: "44"}))
	assert.Equal(t, sha256Hex("2244"), *e.HashFinal)
}

// TestEventHash_CoversEveryMember checks that changing any member of an event changes its hash.
func TestEventHash_CoversEveryMember(t *testing.T) {
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

// TestVerifyChain_ChecksTheLength checks that an incorrect number of events is detected.
func TestVerifyChain_ChecksTheLength(t *testing.T) {
	t.Parallel()
	e := chainedEvents(t)
	require.NoError(t, models.VerifyChain(e.Events, e.AuditSeq, e.AuditHead))
	for _, n := range []int64{e.AuditSeq - 1, e.AuditSeq + 1, 0} {
		require.Error(t, models.VerifyChain(e.Events, n, e.AuditHead))
	}
	require.NoError(t, models.VerifyChain(nil, 0, models.ChainStart))
	require.Error(t, models.VerifyChain(nil, 1, models.ChainStart))
}
