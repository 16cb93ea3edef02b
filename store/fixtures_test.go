package store_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

func clock() time.Time { return time.Now().UTC() }

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// eachDatabase runs a test on both databases, using the real clock.
func eachDatabase(t *testing.T, test func(*testing.T, *store.Store)) {
	t.Helper()
	kit.EachDatabase(t, func(t *testing.T, kind string) { test(t, kit.Store(t, kind, clock)) })
}

// whileWriting calls write with each number below n in the background. Meanwhile and once afterwards, it calls read.
func whileWriting(t *testing.T, n int, write func(i int) error, read func()) {
	t.Helper()
	written := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < n && err == nil; i++ {
			err = write(i)
		}
		written <- err
	}()
	for reading := true; reading; read() {
		select {
		case err := <-written:
			require.NoError(t, err)
			reading = false
		default:
		}
	}
}

func draft(t *testing.T, s *store.Store, app uuid.UUID, tenant, subject string) *models.Envelope {
	t.Helper()
	act := models.ActionContext{At: clock().Truncate(time.Microsecond), Actor: models.AppActor(app), NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) }}
	e, err := models.NewEnvelope(act, models.Envelope{AppID: app, TenantID: tenant, CreatedBy: "test", Subject: &subject})
	require.NoError(t, err)
	_, err = e.AddSigner(act, models.SignerInput{Name: "Ada " + subject, Email: "ada@example.com", RoutingOrder: 1, AuthMethod: models.AuthNone})
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), e))
	return e
}

func void(t *testing.T, s *store.Store, e *models.Envelope) {
	t.Helper()
	_, err := s.Change(t.Context(), e.AppID, e.ID, func(e *models.Envelope) error {
		return e.Void(models.ActionContext{At: clock().Truncate(time.Microsecond), Actor: "system", NewID: uuid.New}, nil)
	})
	require.NoError(t, err)
}

// drainOutbox claims and deletes all rows of the outbox.
func drainOutbox(t *testing.T, s *store.Store) []models.OutboxRow {
	t.Helper()
	var all []models.OutboxRow
	for {
		rows, err := s.ClaimOutbox(t.Context(), 100, time.Minute)
		require.NoError(t, err)
		if len(rows) == 0 {
			return all
		}
		for _, r := range rows {
			require.NoError(t, s.FinishOutbox(t.Context(), r.Seq))
		}
		all = append(all, rows...)
	}
}

func pool(t *testing.T, s *store.Store) *sql.DB {
	t.Helper()
	db, err := s.DB()
	require.NoError(t, err)
	return db
}

func rowsIn(t *testing.T, s *store.Store, table string) (n int) {
	t.Helper()
	require.NoError(t, pool(t, s).QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

func isPostgres(ctx context.Context, t *testing.T, s *store.Store) bool {
	t.Helper()
	db, err := s.DB()
	require.NoError(t, err)
	var version string
	return db.QueryRowContext(ctx, "SELECT version()").Scan(&version) == nil
}

// listOf returns the list from a call that also returns a count. It panics on an error.
func listOf[T any](list []T, _ int, err error) []T {
	if err != nil {
		panic(err)
	}
	return list
}

// must returns the result of a call, and panics on an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// errOf returns the error of a call whose result is not used.
func errOf[T any](_ T, err error) error { return err }

// withIdempotencyKey calls do as a request with an idempotency key but without a stored response.
func withIdempotencyKey(ctx context.Context, s *store.Store, key uuid.UUID, do func(*store.Store) error) error {
	_, err := s.Execute(ctx, key, func(s *store.Store) (*store.StoredResponse, error) { return nil, do(s) })
	return err
}
