package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// personalData lists strings, in lowercase, that no table may contain in plain text. They are complete and partial
// addresses, phone numbers and values from scenario.
var personalData = []string{
	"ada.l@", "kitchen.example", "+442079460958", "2079460958", "clerk@staff.example", "staff.example", "owner@acme.example", "acme.example",
	"grace", "grace.h@navy.example", "navy.example", "+12025550143", "4711 quiet lane", "a hand's stroke", "courier hand",
}

// scenario is a database that contains personal data everywhere the schema allows it. An endpoint has echoed the data
// in its responses.
type scenario struct {
	*store.Store

	t        *testing.T
	clock    *kit.Clock
	app      *models.App
	user     *models.ConsoleUser
	contact  *models.Contact
	envelope *models.Envelope
	delivery uuid.UUID
}

// database is a migrated database without rows, which can be opened with different master keys.
type database struct {
	kind, url string
	clock     *kit.Clock
}

func onBothDatabases(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		test(t, database{kind, kit.MigratedURL(t, kind), kit.NewClock()})
	})
}

// open opens the database with the given master keys. The first one is used for encryption.
func (d database) open(t *testing.T, keys ...byte) *store.Store {
	t.Helper()
	return kit.OpenStore(t, d.url, kit.VaultOf(t, keys...), d.clock.Now)
}

func openRaw(t *testing.T, kind, url string) *sql.DB {
	t.Helper()
	driver, dsn := "pgx", url
	if kind == "sqlite" {
		driver, dsn = "sqlite", strings.TrimPrefix(url, "sqlite://")
	}
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func newScenario(t *testing.T, s *store.Store, clock *kit.Clock) *scenario {
	t.Helper()
	ctx := t.Context()
	sc := &scenario{Store: s, t: t, clock: clock}
	f := newFixture(t, s, clock)
	contact, phone, number := "owner@acme.example", "+442079460958", "+12025550143"
	var err error
	sc.app, err = s.UpdateApp(ctx, f.app.ID, store.AppChange{Contact: &contact})
	require.NoError(t, err)
	sc.user, err = s.CreateUser(ctx, f.app.ID, "Clerk@staff.example", "Clerk", "correct horse", models.RoleViewer)
	require.NoError(t, err)
	sc.contact, err = s.SaveContact(ctx, models.Contact{AppID: f.app.ID, Name: "Grace Hopper", Email: "Grace.H@navy.example", Phone: &number}, false)
	require.NoError(t, err)
	_, err = s.CreateWebhook(ctx, f.app.ID, "https://hooks.example.com", models.WebhookEvents, "")
	require.NoError(t, err)

	act, subject := f.act(), "Lease"
	e, err := models.NewEnvelope(act, models.Envelope{AppID: f.app.ID, TenantID: "t", CreatedBy: "me", Subject: &subject})
	require.NoError(t, err)
	_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
		Name: "a.pdf", SHA256: strings.Repeat("0", 64), Size: 9, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "k",
	}}, 1)
	require.NoError(t, err)
	for i, in := range []models.SignerInput{
		{Name: "Ada L", Email: "Ada.L@kitchen.example", Phone: &phone, RoutingOrder: 1, AuthMethod: models.AuthEmailOTP},
		{Name: "Ada again", Email: "ada.l@Kitchen.example", RoutingOrder: 1, AuthMethod: models.AuthEmailOTP},
	} {
		signer, err := e.AddSigner(act, in)
		require.NoError(t, err)
		for n, of := range []models.FieldType{models.FieldSignature, models.FieldText} {
			_, err = e.AddFields(act, []models.FieldInput{{
				SignerRef: signer.ID.String(), Type: of, Page: 1, X: float64(20 * n), Y: float64(20 * i), W: 10, H: 10, Required: true, Origin: models.OriginTopLeft,
				DefaultValue: map[models.FieldType]string{models.FieldText: "Courier hand"}[of],
			}}, models.NoPrefix)
			require.NoError(t, err)
		}
	}
	require.NoError(t, e.Send(act, nil))
	require.NoError(t, s.Create(ctx, e))
	sc.envelope = e
	for i := range e.Signers {
		sc.sign(i)
	}
	for _, row := range drainOutbox(t, s) {
		if row.Kind != models.OutboxDeliver {
			continue
		}
		job, err := s.DeliveryJob(ctx, row.Key)
		require.NoError(t, err)
		attempt := models.DeliveryAttempt{DeliveryID: row.Key, At: clock.Now(), Status: 200, Body: job.Event.Body}
		_, err = s.RecordAttempt(ctx, attempt, models.DeliveryOutcome{WebhookID: job.Delivery.WebhookID, Delivered: true})
		require.NoError(t, err)
		sc.delivery = row.Key
	}
	require.NotZero(t, sc.delivery)
	sc.change(func(e *models.Envelope) error {
		return e.Complete(f.act(), []models.SealedFile{{OriginalID: e.Documents[0].ID, SHA256: "00", Size: 1, PageCount: 1, BlobKey: "s"}})
	})
	return sc
}

func (sc *scenario) change(fn func(*models.Envelope) error) {
	sc.t.Helper()
	_, err := sc.Change(sc.t.Context(), sc.app.ID, sc.envelope.ID, fn)
	require.NoError(sc.t, err)
}

func (sc *scenario) sign(i int) {
	sc.t.Helper()
	act := models.ActionContext{At: sc.clock.Now(), Actor: models.ActorSystem, NewID: uuid.New}
	code, text, font := []byte("hash"), "4711 Quiet Lane", "Courier Hand"
	sc.change(func(e *models.Envelope) error {
		_, err := e.RequestCode(act, link(e, i), code)
		return err
	})
	sc.change(func(e *models.Envelope) error {
		_, err := e.VerifyCode(act, link(e, i), code, nil)
		return err
	})
	sc.change(func(e *models.Envelope) error {
		_, err := e.Consent(act, link(e, i), new(models.Signer).Disclosure("en"))
		return err
	})
	sc.change(func(e *models.Envelope) error {
		_, err := e.Sign(act, link(e, i), models.Submission{FontLabel: &font, Fields: []models.FieldSubmission{
			{FieldID: e.Fields[2*i].ID, Image: []byte("\x89PNG A hand's stroke")}, {FieldID: e.Fields[2*i+1].ID, Text: &text},
		}})
		return err
	})
}

// check verifies that all personal data can be read through s.
func (sc *scenario) check(s *store.Store) {
	t, ctx := sc.t, sc.t.Context()
	t.Helper()
	app, err := s.App(ctx, sc.app.ID)
	require.NoError(t, err)
	assert.Equal(t, "owner@acme.example", app.Contact)
	user, err := s.Login(ctx, " CLERK@staff.example", "correct horse")
	require.NoError(t, err)
	assert.Equal(t, "Clerk@staff.example", user.Email)
	users, err := s.Users(ctx, sc.app.ID)
	require.NoError(t, err)
	require.Len(t, users, 1)
	assert.Equal(t, user.Email, users[0].Email)

	for _, search := range []string{"", "GRACE", "Hopper", "navy", ".h@n"} {
		contacts, _, err := s.Contacts(ctx, sc.app.ID, search, 1, 1000)
		require.NoError(t, err)
		require.Len(t, contacts, 1, search)
		assert.Equal(t, "Grace Hopper", contacts[0].Name)
		assert.Equal(t, "Grace.H@navy.example", contacts[0].Email)
		assert.Equal(t, "+12025550143", *contacts[0].Phone)
		assert.Equal(t, sc.contact.ID, contacts[0].ID)
	}

	e, log, err := s.EnvelopeWithEvents(ctx, sc.app.ID, sc.envelope.ID)
	require.NoError(t, err)
	require.NoError(t, models.VerifyChain(log, e.AuditSeq, e.AuditHead))
	assert.Equal(t, "Ada.L@kitchen.example", e.Signers[0].Email)
	assert.Equal(t, "+442079460958", *e.Signers[0].Phone)
	assert.Equal(t, "ada.l@Kitchen.example", e.Signers[1].Email)
	assert.Nil(t, e.Signers[1].Phone)
	for _, search := range []string{"ada.l@kitchen.example", " ADA.L@KITCHEN.EXAMPLE", "Kitchen.example", "@kitchen.example", "lease", "Ada aga"} {
		list, total, err := s.Envelopes(ctx, store.EnvelopeFilter{App: sc.app.ID, Search: search, Page: 1, Size: 5})
		require.NoError(t, err)
		require.EqualValues(t, 1, total, search)
		assert.Equal(t, "Ada.L@kitchen.example", list[0].Signers[0].Email)
	}
	values, err := s.Values(ctx, sc.envelope)
	require.NoError(t, err)
	require.Len(t, values, 4)
	for _, v := range values {
		assert.True(t, v.Text == "4711 Quiet Lane" && v.Image == nil || v.Text == "" && string(v.Image) == "\x89PNG A hand's stroke")
	}
	saved, err := s.SavedSignature(ctx, e, e.Signers[1])
	require.NoError(t, err)
	require.NotNil(t, saved)
	assert.Equal(t, "\x89PNG A hand's stroke", string(saved.Image))
	assert.Equal(t, "Courier Hand", *saved.FontLabel)

	_, ev, attempts, err := s.Delivery(ctx, sc.app, sc.delivery)
	require.NoError(t, err)
	var notice models.WebhookPayload
	require.NoError(t, json.Unmarshal(ev.Body, &notice))
	assert.Equal(t, "Ada.L@kitchen.example", notice.Data.Signers[0].Email)
	require.Len(t, attempts, 1)
	assert.Equal(t, string(ev.Body), string(attempts[0].Body))
}

// dumpTables returns the contents of all tables. For SQLite, it also returns the bytes of the file.
func dumpTables(t *testing.T, kind, url string) string {
	t.Helper()
	ctx, db := t.Context(), openRaw(t, kind, url)
	var out bytes.Buffer
	for _, name := range tableNames(t, kind, db) {
		eachRow(ctx, t, db, "SELECT * FROM "+name, func(row []any) {
			for _, v := range row {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				fmt.Fprintln(&out, v)
			}
		})
	}
	if kind == "sqlite" {
		for _, q := range []string{"PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
			_, err := db.ExecContext(ctx, q)
			require.NoError(t, err)
		}
		file, err := os.ReadFile(strings.TrimPrefix(url, "sqlite://"))
		require.NoError(t, err)
		out.Write(file)
	}
	return strings.ToLower(out.String())
}

func tableNames(t *testing.T, kind string, db *sql.DB) (names []string) {
	t.Helper()
	tables := "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
	if kind == "sqlite" {
		tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	eachRow(t.Context(), t, db, tables, func(row []any) { names = append(names, fmt.Sprint(row[0])) })
	require.Greater(t, len(names), 20)
	return names
}

func eachRow(ctx context.Context, t *testing.T, db *sql.DB, query string, fn func([]any)) {
	t.Helper()
	rows, err := db.QueryContext(ctx, query)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		row, at := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			at[i] = &row[i]
		}
		require.NoError(t, rows.Scan(at...))
		fn(row)
	}
	require.NoError(t, rows.Err())
}

func assertNoPlaintext(t *testing.T, dump string) {
	t.Helper()
	for _, p := range personalData {
		i := strings.Index(dump, p)
		if i >= 0 {
			t.Errorf("the database contains %q in plain text: %q", p, dump[max(0, i-200):min(len(dump), i+100)])
		}
	}
}

// TestDatabase_ContainsNoPlainAddress checks that no table contains an address, phone number or signed value in plain
// text.
func TestDatabase_ContainsNoPlainAddress(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		s := d.open(t, 1)
		sc := newScenario(t, s, d.clock)
		sc.check(s)
		text := dumpTables(t, d.kind, d.url)
		assert.Contains(t, text, "ada again", "all values are present")
		assertNoPlaintext(t, text)
	})
}

// TestEncryptedValues_AreBoundToTheirRows checks that an encrypted value cannot be moved to another row, and that
// changing other columns of a row does not re-encrypt it.
func TestEncryptedValues_AreBoundToTheirRows(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		s := d.open(t, 1)
		f := newFixture(t, s, d.clock)
		e := f.sent(2, nil)
		db := openRaw(t, d.kind, d.url)
		seals := func() (out []string) {
			eachRow(t.Context(), t, db, "SELECT email FROM signers ORDER BY position", func(row []any) { out = append(out, fmt.Sprint(row[0])) })
			return out
		}
		before := seals()
		require.NoError(t, f.sign(e, 0))
		assert.Equal(t, before, seals())
		got, _ := f.check(e.ID)
		assert.Equal(t, models.SignerSigned, got.Signers[0].Status)

		_, err := db.ExecContext(t.Context(), "UPDATE signers SET email = (SELECT s.email FROM signers AS s WHERE s.position <> signers.position)")
		require.NoError(t, err)
		_, err = s.Envelope(t.Context(), f.app.ID, e.ID)
		require.ErrorContains(t, err, "vault: open signers.email")
	})
}
