package main

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"

	"countersign/clients/go/api"
)

// measureSign alternates between sign calls over HTTP and bare transactions that write the same rows, so that changes
// in the machine's speed affect both of them.
func (w *benchEnv) measureSign(ctx context.Context) error {
	db, err := sql.Open("pgx", w.pg)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := w.client.endpoint(ctx, "https://example.com/", api.WebhookEventNameEnvelopeExpired); err != nil {
		return err
	}
	var calls, bare []time.Duration
	for range signCalls {
		e, err := w.client.send(ctx)
		if err != nil {
			return err
		}
		for i := range 2 {
			if err := w.client.consent(ctx, e, i); err != nil {
				return err
			}
		}
		// Wait until both invitations have been sent, so that sending does not affect the measurement.
		for invited(e) < 2 {
			if err := w.get(ctx, e, firstLook); err != nil {
				return err
			}
		}
		start := now()
		if err := sameRows(ctx, db, e); err != nil {
			return err
		}
		bare = append(bare, now().Sub(start))
		start = now()
		if err := w.client.sign(ctx, e, 0); err != nil {
			return err
		}
		calls = append(calls, now().Sub(start))
	}
	report("sign call, p50 (p90)                    %s (%s)", ms(median(calls)), ms(quantile(calls, 0.9)))
	report("bare transaction with the same rows     %s (%s)", ms(median(bare)), ms(quantile(bare, 0.9)))
	report("ratio                                   %.2f                      (goal: at most 2.2)", float64(median(calls))/float64(median(bare)))
	return nil
}

// sameRows writes, for the second signer, the same rows that a sign call writes for the first one: two values, the
// adopted signature, the signer, the envelope, one audit event and one outbox row. The changes remain, because the
// envelope is not used again.
func sameRows(ctx context.Context, db *sql.DB, e *envelope) error {
	image, err := base64.StdEncoding.DecodeString(signaturePNG)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	at := now().UTC()
	signer := e.Signers[1].ID
	exec := func(query string, args ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
	}
	exec(`SELECT 1 FROM envelopes WHERE id = $1 FOR UPDATE`, e.ID)
	var rows []string
	var args []any
	for _, f := range e.Fields {
		if f.SignerID == signer {
			n := len(args)
			rows = append(rows, fmt.Sprintf("($%d,$%d,$%d,$%d,$%d,$%d)", n+1, n+2, n+3, n+4, n+5, n+6))
			args = append(args, f.ID, e.ID, signer, "Value", image, at)
		}
	}
	exec(`INSERT INTO field_values (field_id, envelope_id, signer_id, text, image, created_at) VALUES `+strings.Join(rows, ","), args...)
	exec(`UPDATE signers SET status = 'signed', signed_at = $2, ip = '127.0.0.1', user_agent = 'bench' WHERE id = $1`, signer, at)
	exec(`UPDATE envelopes SET version = version + 1, audit_head = $2 WHERE id = $1`, e.ID, strings.Repeat("0", 64))
	exec(`INSERT INTO audit_events (id, envelope_id, seq, name, timestamp, actor, detail, prev_hash, hash)
		VALUES ($1, $2, 1000, 'bench', $3, 'system', '{}', '', '')`, uuid.NewString(), e.ID, at)
	// The row is not due during the measurement, so that no worker processes it.
	exec(`INSERT INTO outbox (id, key, kind, refs, not_before, created_at) VALUES ($1, $1, 'bench', '{}', $2, $3)`,
		uuid.NewString(), at.Add(4*time.Minute), at)
	if err != nil {
		return err
	}
	return tx.Commit()
}
