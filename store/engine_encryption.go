package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/uuid"

	"countersign/models"
)

// encryptedColumn is a column whose values are kept encrypted: text or data, whichever
// is not nil, is its place in a row.
type encryptedColumn struct {
	name       string
	text       *string
	data       *[]byte
	compressed bool // data is JSON, see compress
}

// encryptedRow is what of a row is kept encrypted. Each value is bound to its column
// and row, so that it opens in no other place.
type encryptedRow struct {
	table, key string
	columns    []encryptedColumn
}

// encryptedRowOf knows what of each table is encrypted: addresses and phone numbers,
// what a person signed with, and texts that repeat them. row is a pointer.
func encryptedRowOf(row any) encryptedRow {
	switch v := row.(type) {
	case *models.App:
		return encryptedRow{"apps", v.ID.String(), []encryptedColumn{{name: "contact", text: &v.Contact}}}
	case *models.ConsoleUser:
		return encryptedRow{"console_users", v.ID.String(), []encryptedColumn{{name: "email", text: &v.Email}}}
	case *models.Contact:
		return encryptedRow{"contacts", v.ID.String(), []encryptedColumn{
			{name: "name", text: &v.Name}, {name: "email", text: &v.Email}, {name: "phone", text: ownCopy(&v.Phone)},
		}}
	case *models.Signer:
		return encryptedRow{"signers", v.ID.String(), []encryptedColumn{
			{name: "email", text: &v.Email}, {name: "phone", text: ownCopy(&v.Phone)}, {name: "previous", text: ownCopy(&v.PreviousJSON)}, {name: "host_email", text: ownCopy(&v.HostEmail)},
		}}
	case *models.Field:
		return encryptedRow{"fields", v.ID.String(), []encryptedColumn{{name: "default_value", text: &v.DefaultValue}}}
	case *models.FieldValue:
		return encryptedRow{"field_values", v.FieldID.String(), []encryptedColumn{{name: "text", text: &v.Text}, {name: "image", data: &v.Image}, {name: "image_sha256", text: &v.ImageSHA256}}}
	case *models.TemplateVersion: // prefilled values
		return encryptedRow{"template_versions", v.ID.String(), []encryptedColumn{{name: "content", text: &v.Content}}}
	case *models.Attachment:
		return encryptedRow{"attachments", v.ID.String(), []encryptedColumn{{name: "name", text: &v.Name}}}
	case *models.SavedSignature:
		return encryptedRow{"saved_signatures", v.AppID.String() + "/" + v.EmailKey, []encryptedColumn{
			{name: "email", text: &v.Email}, {name: "image", data: &v.Image}, {name: "font_label", text: ownCopy(&v.FontLabel)},
		}}
	case *models.Settings:
		return encryptedRow{"tenant_settings", v.AppID.String() + "/" + v.TenantID, []encryptedColumn{
			{name: "reply_to", text: ownCopy(&v.ReplyTo)}, {name: "notify_email", text: ownCopy(&v.NotifyEmail)},
		}}
	case *models.BulkRow:
		return encryptedRow{"bulk_send_rows", v.ID.String(), []encryptedColumn{{name: "data", text: &v.Data}}}
	case *models.WebhookEvent:
		return encryptedRow{"webhook_events", v.ID.String(), []encryptedColumn{
			{name: "body", data: &v.Body, compressed: true}, {name: "values_body", data: &v.ValuesBody, compressed: true},
		}}
	case *models.DeliveryAttempt: // an endpoint may answer with what it was sent
		return encryptedRow{"delivery_attempts", v.ID.String(), []encryptedColumn{{name: "body", data: &v.Body}}}
	}
	return encryptedRow{}
}

// ownCopy makes an optional text the row's own, which others may have pointed at.
func ownCopy(p **string) *string {
	if *p == nil {
		return nil
	}
	text := **p
	*p = &text
	return &text
}

func (r encryptedRow) label(c encryptedColumn) string { return r.table + "." + c.name + " " + r.key }

// names are the names of the columns.
func (r encryptedRow) names() []string {
	return mapSlice(r.columns, func(c encryptedColumn) string { return c.name })
}

// same reports whether two rows, both decrypted, do not differ in what is encrypted.
func (r encryptedRow) same(other encryptedRow) bool {
	return reflect.DeepEqual(r.columns, other.columns) // what the pointers point at is compared
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// encrypt is a copy of a row as the database gets it.
func encrypt[T any](s *engine, row *T) *T {
	out := *row
	r := encryptedRowOf(&out)
	for _, c := range r.columns {
		if c.text != nil {
			*c.text = s.vault.EncryptText(*c.text, r.label(c))
		}
		if c.compressed {
			*c.data = compress(*c.data)
		}
		if c.data != nil {
			*c.data = s.vault.EncryptBytes(*c.data, r.label(c))
		}
	}
	return &out
}

// errUnreadable says that a value is there and cannot be decrypted.
var errUnreadable = errors.New("a value cannot be decrypted")

// decrypt decrypts, in place, a row that was read. Its error is errUnreadable.
func decrypt[T any](s *engine, row *T) (err error) {
	r := encryptedRowOf(row)
	for _, c := range r.columns {
		if c.text != nil {
			*c.text, err = s.vault.DecryptText(*c.text, r.label(c))
		}
		if c.data != nil && err == nil {
			*c.data, err = s.vault.DecryptBytes(*c.data, r.label(c))
		}
		if c.compressed && err == nil {
			*c.data, err = decompress(*c.data)
		}
		if err != nil {
			return fmt.Errorf("store: %w: %w", errUnreadable, err)
		}
	}
	return nil
}

// decryptAll is decrypt for several rows.
func decryptAll[T any](s *engine, rows []*T) error {
	for _, row := range rows {
		if err := decrypt(s, row); err != nil {
			return err
		}
	}
	return nil
}

// needsRewrap reports whether a row, as it was read, is to be encrypted anew.
func (s *engine) needsRewrap(r encryptedRow) bool {
	return slices.ContainsFunc(r.columns, func(c encryptedColumn) bool {
		return c.text != nil && s.vault.TextNeedsRewrap(*c.text) || c.data != nil && s.vault.BytesNeedRewrap(*c.data)
	})
}

// without are the columns but those of some names.
func without(columns []column, names []string) []column {
	return slices.DeleteFunc(columns, func(c column) bool { return slices.Contains(names, c.name) })
}

// Addresses are found by the hashes below: that to write first, then those under
// former master keys.

func (s *UserRepository) userKeys(email string) []string { return s.addressKeys("users", email) }

func (s *AppRepository) contactKeys(app uuid.UUID, email string) []string {
	return s.addressKeys("contacts "+app.String(), email)
}

// savedKeys are those of a signature that was adopted in a tenant, by who proved
// to have the address by that method.
func (s *EnvelopeRepository) savedKeys(v *models.SavedSignature) []string {
	return s.addressKeys("signatures "+v.AppID.String()+" "+string(v.AuthMethod)+" "+v.TenantID, v.Email)
}

func (s *engine) addressKeys(scope, email string) []string {
	return s.index.Hashes(scope, models.EmailKey(email))
}

// hashOf is what is stored of a text that is only ever compared.
func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Labels under which the vault keeps what.
const (
	labelClientSecret  = "client-secret"
	labelWebhookSecret = "webhook-secret"
	labelSigningKey    = "signing-key"
)
