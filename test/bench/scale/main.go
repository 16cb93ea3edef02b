// Command scale measures whether reading stays flat as an app's envelopes grow
// from 1,000 to 1,000,000 on PostgreSQL, and what a read costs beside a bare
// handler that runs the same SQL. It starts a PostgreSQL of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/api"
	"countersign/internal/credential"
	"countersign/internal/testkit"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
)

func main() {
	large := flag.Int("envelopes", 1_000_000, "envelopes of the large app")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *large); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench-scale:", err)
		os.Exit(1)
	}
}

const (
	small  = 1000
	tenant = "acme"
	// allowedRatio is how much slower a read of the large app may be.
	allowedRatio = 1.3
	// floor is the part of a bare handler's rate that the service must reach.
	floor = 0.7
)

type bench struct {
	store  *store.Store
	pool   *pgxpool.Pool
	tokens *credential.Tokens
	server *httptest.Server
}

func now() time.Time { return time.Now().UTC() } //nolint:forbidigo // a measurement needs the real time

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func run(ctx context.Context, large int) (err error) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	pg, err := testkit.StartPostgres(ctx, testkit.PostgresOptions{}) // reading needs no fsync
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pg.Stop(context.WithoutCancel(ctx))) }()
	b, err := setUp(ctx, pg.URL)
	if err != nil {
		return err
	}
	defer b.close()
	few, err := b.fill(ctx, small)
	if err != nil {
		return err
	}
	many, err := b.fill(ctx, large)
	if err != nil {
		return err
	}
	failed, err := b.compare(ctx, few, many)
	if err != nil {
		return err
	}
	slow, err := b.besideFloor(ctx, many)
	if err != nil {
		return err
	}
	if failed || slow {
		return errors.New("a figure is worse than the limit")
	}
	return nil
}

func setUp(ctx context.Context, url string) (*bench, error) {
	v, err := vault.New("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=") // guards nothing but the bench's own database
	if err != nil {
		return nil, err
	}
	b := &bench{}
	if b.store, err = store.Open(ctx, store.Config{URL: url, BaseURL: "http://localhost", Vault: v, Now: now, NewID: newID}); err != nil {
		return nil, err
	}
	if _, err := b.store.Migrate(ctx); err != nil {
		return nil, err
	}
	if b.pool, err = pgxpool.New(ctx, url); err != nil {
		return nil, err
	}
	keys, err := b.store.Keys(ctx, models.KeyTokens)
	if err != nil {
		return nil, err
	}
	if b.tokens, err = credential.NewTokens(keys, now); err != nil {
		return nil, err
	}
	h, err := api.New(api.Config{
		Store: b.store, Tokens: b.tokens, BaseURL: "http://localhost", RateLimit: 100_000_000, SharedLimits: true, DefaultExpiryDays: 30,
		Log: slog.Default(), Now: now, NewID: newID,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/bare/{app}/{id}", b.bare)
	b.server = httptest.NewServer(mux)
	return b, nil
}

func (b *bench) close() {
	b.server.Close()
	b.pool.Close()
	_ = b.store.Close() // it ends with the process
}

// data is an app with its envelopes.
type data struct {
	app   *models.App
	token string
	n     int
	ids   []string // some of them
}

// rows of an envelope that is spread over the statuses as in life: most are done.
var inserts = []string{
	`INSERT INTO envelopes (id, app_id, tenant_id, status, subject, created_by, first_document_id, created_at, audit_seq, audit_head, version)
	SELECT (lpad(to_hex(1700000000000 + g), 12, '0') || '7' || substr(md5('a' || $1 || g), 1, 3) || '8' || substr(md5('b' || $1 || g), 1, 15))::uuid, $1::uuid, $3,
		CASE WHEN g % 100 < 80 THEN 'completed' WHEN g % 100 < 88 THEN 'declined' WHEN g % 100 < 92 THEN 'in_progress' WHEN g % 100 < 96 THEN 'draft' ELSE 'sent' END,
		'Contract ' || g, 'bench', md5($1 || 'd' || g)::uuid, now(), 3, repeat('0', 64), 1
	FROM generate_series(1, $2::int) AS g`,
	`INSERT INTO signers (id, envelope_id, position, name, email, mailbox, routing_order, status, auth_method)
	SELECT md5('s' || id)::uuid, id, 0, 'Ada Byron', '', 0, 1, 'signed', 'none' FROM envelopes WHERE app_id = $1::uuid AND $2::int > 0 AND tenant_id = $3`,
	`INSERT INTO documents (id, envelope_id, kind, name, mime_type, sha256, size, page_count, pages, document_order, blob_key, purge_status, created_at)
	SELECT first_document_id, id, 'original', 'contract.pdf', 'application/pdf', repeat('0', 64), 1000, 1, '[]', 1, 'k', 'active', now() FROM envelopes WHERE app_id = $1::uuid AND $2::int > 0 AND tenant_id = $3`,
	`INSERT INTO fields (id, envelope_id, document_id, signer_id, position, type, page, x, y, w, h, required, origin)
	SELECT md5('f' || id)::uuid, id, first_document_id, md5('s' || id)::uuid, 0, 'signature', 1, 1, 1, 9, 9, true, 'top-left' FROM envelopes WHERE app_id = $1::uuid AND $2::int > 0 AND tenant_id = $3`,
	`INSERT INTO audit_events (id, envelope_id, seq, name, timestamp, actor, prev_hash, hash)
	SELECT md5('e' || g || id)::uuid, id, g, 'envelope.created', now(), 'system', repeat('0', 64), repeat('0', 64)
	FROM envelopes, generate_series(1, 3) AS g WHERE app_id = $1::uuid AND $2::int > 0 AND tenant_id = $3`,
	`INSERT INTO envelope_count_changes (app_id, tenant_id, status, change)
	SELECT app_id, tenant_id, status, 1 FROM envelopes WHERE app_id = $1::uuid AND $2::int > 0 AND tenant_id = $3`,
}

func (b *bench) fill(ctx context.Context, n int) (*data, error) {
	start := now()
	app, _, err := b.store.CreateApp(ctx, "Bench", models.PlanEnterprise, nil)
	if err != nil {
		return nil, err
	}
	d := &data{app: app, n: n}
	for _, sql := range inserts {
		if _, err := b.pool.Exec(ctx, sql, app.ID.String(), n, tenant); err != nil {
			return nil, fmt.Errorf("fill %d envelopes: %w", n, err)
		}
	}
	// A million changes folded at once leave a million dead rows, which life does not.
	if err := b.store.DeleteExpired(ctx); err != nil {
		return nil, err
	}
	for _, sql := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := b.pool.Exec(ctx, sql); err != nil {
			return nil, fmt.Errorf("%s: %w", sql, err)
		}
	}
	rows, err := b.pool.Query(ctx, `SELECT id::text FROM envelopes WHERE app_id = $1 ORDER BY md5(id::text) LIMIT 500`, app.ID)
	if err != nil {
		return nil, fmt.Errorf("choose envelopes: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("choose envelopes: %w", err)
		}
		d.ids = append(d.ids, id)
	}
	if d.token, err = b.tokens.IssueAccess(app.ID); err != nil {
		return nil, err
	}
	say("%9d envelopes made in %s", n, now().Sub(start).Round(time.Second))
	return d, rows.Err()
}

func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) }

// reads are what is measured.
var reads = []struct{ name, path string }{
	{"get", "/v1/envelopes/{id}"},
	{"list", "/v1/envelopes?tenantId=" + tenant},
	{"list, completed", "/v1/envelopes?tenantId=" + tenant + "&status=completed"},
	{"list, in progress", "/v1/envelopes?tenantId=" + tenant + "&status=in_progress"},
	{"list, draft", "/v1/envelopes?tenantId=" + tenant + "&status=draft"},
	{"list, page 10", "/v1/envelopes?tenantId=" + tenant + "&page=10"},
	{"console, all tenants", "/v1/console/envelopes"},
}

const rounds = 200

// compare takes turns between the two apps, so that whatever else the machine
// does falls on both.
func (b *bench) compare(ctx context.Context, few, many *data) (failed bool, err error) {
	say("\n%-22s %12s %12s %8s", "p50", fmt.Sprint(few.n), fmt.Sprint(many.n), "ratio")
	for _, r := range reads {
		var took [2][]time.Duration
		for i := range 2 * rounds {
			for k, d := range []*data{few, many} {
				t, err := b.read(ctx, strings.ReplaceAll(r.path, "{id}", d.ids[i%rounds]), d.token)
				if err != nil {
					return false, err
				}
				if i >= rounds { // the first turn reads the pages from the disk
					took[k] = append(took[k], t)
				}
			}
		}
		a, z := median(took[0]), median(took[1])
		ratio := float64(z) / float64(a)
		mark := ""
		if ratio > allowedRatio {
			mark, failed = "  over the limit", true
		}
		say("%-22s %12s %12s %7.2f×%s", r.name, a.Round(time.Microsecond), z.Round(time.Microsecond), ratio, mark)
	}
	bad, err := b.plans(ctx, many)
	return failed || bad, err
}

func (b *bench) read(ctx context.Context, path, token string) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.server.URL+path, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	start := now()
	res, err := b.server.Client().Do(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	took := now().Sub(start)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return 0, err
	}
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", path, res.Status)
	}
	return took, nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// plans looks at how PostgreSQL runs the queries: none may read a table that
// grows from one end to the other.
func (b *bench) plans(ctx context.Context, d *data) (bad bool, err error) {
	for name, sql := range map[string]string{
		"list":   `SELECT id FROM envelopes WHERE app_id = $1 AND tenant_id = 'acme' ORDER BY id DESC LIMIT 20`,
		"status": `SELECT id FROM envelopes WHERE app_id = $1 AND tenant_id = 'acme' AND status = 'draft' ORDER BY id DESC LIMIT 20`,
		"count":  `SELECT SUM(n) FROM envelope_counts WHERE app_id = $1 AND tenant_id = 'acme'`,
		"audit":  `SELECT * FROM audit_events WHERE envelope_id = $1 ORDER BY seq`,
	} {
		rows, err := b.pool.Query(ctx, "EXPLAIN "+sql, d.app.ID)
		if err != nil {
			return false, fmt.Errorf("explain %s: %w", name, err)
		}
		var plan []string
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return false, fmt.Errorf("explain %s: %w", name, err)
			}
			plan = append(plan, line)
		}
		rows.Close()
		text := strings.Join(plan, "\n")
		if strings.Contains(text, "Seq Scan") && name != "count" { // the counts are a handful of rows
			bad = true
			say("\n%s reads a whole table:\n%s", name, text)
		}
	}
	if !bad {
		say("every plan uses an index")
	}
	return bad, nil
}

// bare is the floor: the same queries, no rules, the least that can be answered.
func (b *bench) bare(w http.ResponseWriter, r *http.Request) {
	app, id := r.PathValue("app"), r.PathValue("id")
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{"SELECT * FROM envelopes WHERE id = $1 AND app_id = $2", []any{id, app}},
		{"SELECT * FROM signers WHERE envelope_id = $1 ORDER BY position", []any{id}},
		{"SELECT * FROM fields WHERE envelope_id = $1 ORDER BY position", []any{id}},
		{"SELECT * FROM documents WHERE envelope_id = $1 ORDER BY kind, document_order", []any{id}},
		{"SELECT * FROM audit_events WHERE envelope_id = $1 ORDER BY seq", []any{id}},
	} {
		rows, err := b.pool.Query(r.Context(), q.sql, q.args...)
		if err != nil {
			http.Error(w, "query", http.StatusInternalServerError)
			return
		}
		for rows.Next() {
			if _, err := rows.Values(); err != nil {
				http.Error(w, "row", http.StatusInternalServerError)
				break
			}
		}
		rows.Close()
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answerOfAboutThatSize)
}

var answerOfAboutThatSize = []byte(`{"id":"` + strings.Repeat("0", 2600) + `"}`)

const (
	clients = 4
	turn    = 2 * time.Second
	turns   = 4
)

// besideFloor counts requests in turns of the service and of the bare handler.
func (b *bench) besideFloor(ctx context.Context, d *data) (slow bool, err error) {
	var served, bare int
	for range turns {
		n, err := b.hammer(ctx, d, "/v1/envelopes/{id}")
		if err != nil {
			return false, err
		}
		m, err := b.hammer(ctx, d, "/bare/"+d.app.ID.String()+"/{id}")
		if err != nil {
			return false, err
		}
		served, bare = served+n, bare+m
	}
	seconds := (turn * turns).Seconds()
	ratio := float64(served) / float64(bare)
	say("\nget, %d clients: %.0f requests/s; a bare handler with the same SQL: %.0f; %.2f×", clients, float64(served)/seconds, float64(bare)/seconds, ratio)
	return ratio < floor, nil
}

func (b *bench) hammer(ctx context.Context, d *data, path string) (int, error) {
	end := now().Add(turn)
	counts, errs := make([]int, clients), make([]error, clients)
	var wg sync.WaitGroup
	for k := range clients {
		wg.Go(func() {
			for i := k; now().Before(end); i++ {
				if _, err := b.read(ctx, strings.ReplaceAll(path, "{id}", d.ids[i%len(d.ids)]), d.token); err != nil {
					errs[k] = err
					return
				}
				counts[k]++
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return total, errors.Join(errs...)
}
