package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"countersign/models"
)

// The database cannot search recipients, because they are encrypted. This process searches them, within the following
// limits.
const (
	recentEnvelopes  = 100
	recentRecipients = 1000
)

// recentlySent selects the recipients of the newest envelopes that a console user sent and whose documents still exist,
// newest first. An empty tenant selects all.
var recentlySent = fmt.Sprintf(`envelope_id IN (SELECT id FROM envelopes AS e WHERE e.owner_id = $1 AND e.app_id = $2 AND e.sent_at IS NOT NULL
		AND (CAST($3 AS text) = '' OR e.tenant_id = $3) AND NOT EXISTS (SELECT 1 FROM documents AS d WHERE d.envelope_id = e.id AND d.purge_status = '%s')
		ORDER BY e.id DESC LIMIT %d)
	ORDER BY envelope_id DESC, position LIMIT %d`, models.PurgePurged, recentEnvelopes, recentRecipients)

// RecentRecipients returns the recipients of the newest envelopes that a console user sent in a tenant, newest first.
// The search string can match any part of the name or address. An empty tenant selects all tenants. Each address is
// returned once.
func (s *EnvelopeListRepository) RecentRecipients(ctx context.Context, app, user uuid.UUID, tenant, search string) ([]models.Contact, error) {
	var rows []*models.Signer
	err := s.transact(ctx, readOnly, func(t *transaction) error {
		selectRows(&t.batch, &rows, signerRows, recentlySent, user, app, tenant)
		return nil
	})
	if err == nil {
		err = decryptAll(s.engine, rows)
	}
	if err != nil {
		return nil, fmt.Errorf("list recent recipients: %w", err)
	}
	search = normalizeForSearch(search)
	known := make(map[string]bool, len(rows))
	var out []models.Contact
	for _, v := range rows {
		if key := models.EmailKey(v.Email); !known[key] {
			known[key] = true
			if strings.Contains(normalizeForSearch(v.Name, v.Email), search) {
				out = append(out, models.Contact{AppID: app, Name: v.Name, Email: v.Email, Phone: v.Phone})
			}
		}
	}
	return out, nil
}
