package store

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"countersign/models"
)

// sealedColumn is a column whose values are kept sealed: text or data, whichever
// is not nil, is its place in a row.
type sealedColumn struct {
	name string
	text *string
	data *[]byte
}

// sealedRow is what of a row is kept sealed. Each value is bound to its column
// and row, so that it opens in no other place.
type sealedRow struct {
	table, key string
	columns    []sealedColumn
}

// sealedRowOf knows what of each table is sealed: addresses and phone numbers,
// what a person signed with, and texts that repeat them. row is a pointer.
func sealedRowOf(row any) sealedRow {
	switch v := row.(type) {
	case *models.App:
		return sealedRow{"apps", v.ID.String(), []sealedColumn{{name: "contact", text: &v.Contact}}}
	case *models.ConsoleUser:
		return sealedRow{"console_users", v.ID.String(), []sealedColumn{{name: "email", text: &v.Email}}}
	case *models.Contact:
		return sealedRow{"contacts", v.ID.String(), []sealedColumn{
			{name: "name", text: &v.Name}, {name: "email", text: &v.Email}, {name: "phone", text: own(&v.Phone)},
		}}
	case *models.Signer:
		return sealedRow{"signers", v.ID.String(), []sealedColumn{{name: "email", text: &v.Email}, {name: "phone", text: own(&v.Phone)}}}
	case *models.FieldValue:
		return sealedRow{"field_values", v.FieldID.String(), []sealedColumn{{name: "text", text: &v.Text}, {name: "image", data: &v.Image}, {name: "image_sha256", text: &v.ImageSHA256}}}
	case *models.SavedSignature:
		return sealedRow{"saved_signatures", v.AppID.String() + "/" + v.EmailKey, []sealedColumn{
			{name: "email", text: &v.Email}, {name: "image", data: &v.Image}, {name: "font_label", text: own(&v.FontLabel)},
		}}
	case *models.Settings:
		return sealedRow{"tenant_settings", v.AppID.String() + "/" + v.TenantID, []sealedColumn{
			{name: "reply_to", text: own(&v.ReplyTo)}, {name: "notify_email", text: own(&v.NotifyEmail)},
		}}
	case *models.WebhookEvent:
		return sealedRow{"webhook_events", v.ID.String(), []sealedColumn{{name: "body", data: &v.Body}}}
	case *models.DeliveryAttempt: // an endpoint may answer with what it was sent
		return sealedRow{"delivery_attempts", v.ID.String(), []sealedColumn{{name: "body", data: &v.Body}}}
	}
	return sealedRow{}
}

// own makes an optional text the row's own, which others may have pointed at.
func own(p **string) *string {
	if *p == nil {
		return nil
	}
	text := **p
	*p = &text
	return &text
}

func (r sealedRow) label(c sealedColumn) string { return r.table + "." + c.name + " " + r.key }

// names are the names of the columns.
func (r sealedRow) names() []string {
	out := make([]string, 0, len(r.columns))
	for _, c := range r.columns {
		out = append(out, c.name)
	}
	return out
}

// same reports whether two rows, both opened, do not differ in what is sealed.
func (r sealedRow) same(other sealedRow) bool {
	return slices.EqualFunc(r.columns, other.columns, func(a, b sealedColumn) bool {
		return equalText(a.text, b.text) && (a.data == nil || string(*a.data) == string(*b.data))
	})
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// sealed is a copy of a row as the database gets it.
func sealed[T any](s *Store, row *T) *T {
	out := *row
	r := sealedRowOf(&out)
	for _, c := range r.columns {
		if c.text != nil {
			*c.text = s.vault.SealText(*c.text, r.label(c))
		}
		if c.data != nil {
			*c.data = s.vault.SealBytes(*c.data, r.label(c))
		}
	}
	return &out
}

// sealedAll is sealed for several rows.
func sealedAll[T any](s *Store, rows []*T) []*T {
	out := make([]*T, 0, len(rows))
	for _, row := range rows {
		out = append(out, sealed(s, row))
	}
	return out
}

// unseal opens, in place, a row that was read.
func unseal[T any](s *Store, row *T) (err error) {
	r := sealedRowOf(row)
	for _, c := range r.columns {
		if c.text != nil {
			*c.text, err = s.vault.OpenText(*c.text, r.label(c))
		}
		if c.data != nil && err == nil {
			*c.data, err = s.vault.OpenBytes(*c.data, r.label(c))
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

// unsealAll is unseal for several rows.
func unsealAll[T any](s *Store, rows []*T) error {
	for _, row := range rows {
		if err := unseal(s, row); err != nil {
			return err
		}
	}
	return nil
}

// pointers are those to the elements of a slice.
func pointers[T any](rows []T) []*T {
	out := make([]*T, 0, len(rows))
	for i := range rows {
		out = append(out, &rows[i])
	}
	return out
}

// stale reports whether a row, as it was read, is to be sealed anew.
func (s *Store) stale(r sealedRow) bool {
	return slices.ContainsFunc(r.columns, func(c sealedColumn) bool {
		return c.text != nil && s.vault.StaleText(*c.text) || c.data != nil && s.vault.StaleBytes(*c.data)
	})
}

// without are the columns but those of some names.
func without(columns []column, names []string) []column {
	return slices.DeleteFunc(columns, func(c column) bool { return slices.Contains(names, c.name) })
}

// Addresses are found by the hashes below: that to write first, then those under
// former master keys.

func (s *Store) userKeys(email string) []string { return s.addressKeys("users", email) }

func (s *Store) contactKeys(app uuid.UUID, email string) []string {
	return s.addressKeys("contacts "+app.String(), email)
}

// savedKeys are those of a signature that was adopted in a tenant, by who proved
// to have the address by that method.
func (s *Store) savedKeys(v *models.SavedSignature) []string {
	return s.addressKeys("signatures "+v.AppID.String()+" "+string(v.AuthMethod)+" "+v.TenantID, v.Email)
}

func (s *Store) addressKeys(scope, email string) []string {
	return s.index.Hashes(scope, models.EmailKey(email))
}

// Labels under which the vault keeps what.
const (
	labelClientSecret  = "client-secret"
	labelWebhookSecret = "webhook-secret"
	labelSigningKey    = "signing-key"
)
