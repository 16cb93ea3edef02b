package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"countersign/models"
)

// wholeOf determines that every tenth envelope has fields and an audit trail. Only these envelopes are read.
const wholeOf = 10

// Envelope g is created g × secondsApart seconds after startSeconds, which is a Unix time.
const startSeconds, secondsApart = 1_700_000_000, 3

// createdAt is the SQL expression for the creation time of row g.
var createdAt = fmt.Sprintf("to_timestamp(%d + g * %d)", startSeconds, secondsApart)

// uuidOf returns the SQL expression for a version 7 UUID that is derived from the creation time of row g. The digit
// identifies the table.
func uuidOf(digit string) string {
	return fmt.Sprintf("(lpad(to_hex(%d + g * %d), 12, '0') || '7%[3]s00800000000000000%[3]s')::uuid", startSeconds*1000, secondsApart*1000, digit)
}

// inserts creates the rows of $2 envelopes of an app. The statuses are realistic, and most envelopes are completed.
// IDs and times increase as in production, and the rows of each table are inserted in the order of their IDs.
// About 1.3 % of the envelopes need action, because they were recently declined, expire within days, or have a rejected
// email.
var inserts = []struct{ table, sql string }{
	{"envelopes", `INSERT INTO envelopes (id, app_id, tenant_id, status, subject, external_id, created_by, first_document_id, created_at, sent_at, completed_at, updated_at, expires_at, hash_original, audit_seq, audit_head, version)
	SELECT ` + uuidOf("a") + `, $1::uuid, 'acme',
		CASE WHEN g % 100 < 80 THEN 'completed' WHEN g % 100 < 88 THEN 'declined' WHEN g % 100 < 92 THEN 'in_progress' WHEN g % 100 < 96 THEN 'draft' ELSE 'sent' END,
		'Contract ' || g, 'order-' || g, 'bench', ` + uuidOf("d") + `, t, t, t,
		CASE WHEN g % 100 BETWEEN 80 AND 87 AND g % 24 = 0 THEN now() ELSE t END, CASE WHEN g % 100 BETWEEN 88 AND 91 OR g % 100 > 95 THEN now() + make_interval(days => g::int % 30 + 1) END, NULL, 3, repeat('0', 64), 5
	FROM generate_series(1, $2::bigint) AS g CROSS JOIN LATERAL (SELECT ` + createdAt + ` AS t) AS at`},
	{"signers", `INSERT INTO signers (id, envelope_id, position, name, email, mailbox, routing_order, status, auth_method, signed_at, ip, user_agent)
	SELECT ` + uuidOf("5") + `, ` + uuidOf("a") + `, 0, 'Ada Byron', '', 0, 1, CASE WHEN g % 100 BETWEEN 88 AND 91 OR g % 100 > 95 THEN 'sent' ELSE 'signed' END, 'none', ` + createdAt + `, '192.0.2.1', repeat('u', 90)
	FROM generate_series(1, $2::bigint) AS g WHERE $1::text <> ''`},
	{"documents", `INSERT INTO documents (id, envelope_id, kind, name, mime_type, sha256, size, page_count, pages, document_order, blob_key, purge_status, created_at)
	SELECT ` + uuidOf("d") + `, ` + uuidOf("a") + `, 'original', 'contract.pdf', 'application/pdf', repeat('0', 64), 1000, 1, '[]', 1, 'k', 'active', now()
	FROM generate_series(1, $2::bigint) AS g WHERE $1::text <> ''`},
	{"envelope_search", `INSERT INTO envelope_search (envelope_id, app_id, text, addresses)
	SELECT ` + uuidOf("a") + `, $1::uuid, 'contract ' || g || E'\nada byron', ARRAY[substr(md5('m' || g), 1, 22), 'example.com-of-all-ada']
	FROM generate_series(1, $2::bigint) AS g`},
	{"fields", `INSERT INTO fields (id, envelope_id, document_id, signer_id, position, type, page, x, y, w, h, required, origin, name)
	SELECT ` + uuidOf("f") + `, ` + uuidOf("a") + `, ` + uuidOf("d") + `, ` + uuidOf("5") + `, 0, 'signature', 1, 1, 1, 9, 9, true, 'top-left', 'signature_1'
	FROM generate_series(1, $2::bigint, ` + fmt.Sprint(wholeOf) + `) AS g WHERE $1::text <> ''`},
	{"mails", `INSERT INTO mails (id, envelope_id, signer_id, kind, attempts, created_at, sent_at, failed_at, error)
	SELECT 'm' || g, ` + uuidOf("a") + `, ` + uuidOf("5") + `, 'invitation', 1, t, CASE WHEN g % 500 <> 91 THEN t END, CASE WHEN g % 500 = 91 THEN t END, CASE WHEN g % 500 = 91 THEN '550 5.1.1' ELSE '' END
	FROM generate_series(1, $2::bigint, ` + fmt.Sprint(wholeOf) + `) AS g CROSS JOIN LATERAL (SELECT ` + createdAt + ` AS t) AS at WHERE $1::text <> ''`},
	{"audit_events", `INSERT INTO audit_events (id, envelope_id, seq, name, timestamp, actor, prev_hash, hash)
	SELECT md5('e' || s || g)::uuid, ` + uuidOf("a") + `, s, 'envelope.created', ` + createdAt + `, 'system', repeat('0', 64), repeat('0', 64)
	FROM generate_series(1, $2::bigint, ` + fmt.Sprint(wholeOf) + `) AS g CROSS JOIN generate_series(1, 3) AS s WHERE $1::text <> ''`},
	{"envelope_counts", `INSERT INTO envelope_counts (app_id, tenant_id, status, n)
	SELECT app_id, tenant_id, status, count(*) FROM envelopes WHERE app_id = $1::uuid AND $2::bigint > 0 GROUP BY 1, 2, 3`},
	{"usage", `INSERT INTO usage (app_id, period_start, envelopes) VALUES ($1::uuid, date_trunc('month', now())::date, $2::bigint)`},
}

// fill creates an app with n envelopes. It creates the indexes after the rows, and does not check foreign keys.
func (b *bench) fill(ctx context.Context, n int) error {
	start := now()
	app, _, err := b.store.CreateApp(ctx, appName, models.PlanEnterprise, nil)
	if err != nil {
		return err
	}
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	for _, sql := range []string{"SET session_replication_role = replica", "SET maintenance_work_mem = '1GB'", "SET max_parallel_maintenance_workers = 0"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	for _, insert := range inserts {
		began := now()
		indexes, err := dropIndexes(ctx, conn.Conn(), insert.table)
		if err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, insert.sql, app.ID.String(), n); err != nil {
			return fmt.Errorf("fill %s: %w", insert.table, err)
		}
		for _, sql := range append(indexes, "VACUUM (FREEZE, ANALYZE) "+insert.table, "CHECKPOINT") {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		say("%-18s filled in %s", insert.table, now().Sub(began).Round(1e9))
	}
	if _, err := conn.Exec(ctx, "RESET session_replication_role"); err != nil {
		return err
	}
	say("%9d envelopes created in %s", n, now().Sub(start).Round(1e9))
	return nil
}

// dropIndexes drops the indexes of a table that do not belong to constraints, and returns the statements that
// recreate them.
func dropIndexes(ctx context.Context, conn *pgx.Conn, table string) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename = $1
		AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = indexname) ORDER BY indexname`, table)
	if err != nil {
		return nil, fmt.Errorf("list the indexes of %s: %w", table, err)
	}
	type index struct{ Name, Def string }
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		return nil, fmt.Errorf("list the indexes of %s: %w", table, err)
	}
	var again []string
	for _, i := range found {
		if _, dropped := conn.Exec(ctx, "DROP INDEX "+i.Name); dropped != nil {
			err = errors.Join(err, dropped)
		}
		again = append(again, i.Def)
	}
	return again, err
}

// sizes prints the sizes of a database's tables and indexes.
func (b *bench) sizes(ctx context.Context, n int) error {
	rows, err := b.pool.Query(ctx, `SELECT c.relname, pg_relation_size(c.oid), coalesce(pg_relation_size(c.reltoastrelid), 0),
		coalesce((SELECT string_agg(i.indexrelid::regclass || ' ' || pg_size_pretty(pg_relation_size(i.indexrelid)), ', ' ORDER BY pg_relation_size(i.indexrelid) DESC) FROM pg_index AS i WHERE i.indrelid = c.oid), '')
		FROM pg_class AS c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND pg_relation_size(c.oid) > 1000000 ORDER BY 2 DESC`)
	if err != nil {
		return fmt.Errorf("sizes: %w", err)
	}
	defer rows.Close()
	say("\nsizes with %d envelopes", n)
	for rows.Next() {
		var name, indexes string
		var heap, toast int64
		if err := rows.Scan(&name, &heap, &toast, &indexes); err != nil {
			return fmt.Errorf("sizes: %w", err)
		}
		say("%-18s %6d MB; indexes: %s", name, (heap+toast)>>20, strings.ReplaceAll(indexes, name+"_", ""))
	}
	return rows.Err()
}
