// Command scale measures whether the service remains fast as its database grows from 1,000 envelopes to 1,000,000 or
// more on PostgreSQL. It compares each read with a bare handler that runs the same SQL. With -archive, it also measures
// the savings and costs of archiving ended envelopes. It starts its own PostgreSQL server unless -server specifies one.
// On a specified server, the databases are retained for the next run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/api"
	countersign "countersign/clients/go"
	"countersign/internal/credential"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/test/kit"
)

func main() {
	large := flag.Int("envelopes", 1_000_000, "number of envelopes in the large database")
	server := flag.String("server", "", "postgres:// URL of a server that retains the databases (default: a private server)")
	fill := flag.Bool("fill", false, "fill the databases on -server, and measure nothing")
	var archive archiveOptions
	flag.IntVar(&archive.n, "archive", 0, "number of completed envelopes to archive; if it is set, nothing else is measured")
	flag.IntVar(&archive.among, "among", 0, "with -archive: number of envelopes in the database that are already archived")
	flag.BoolVar(&archive.s3, "s3", false, "with -archive: store the files in an S3 server in the memory of this process, instead of a directory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *server, *large, archive, *fill); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench-scale:", err)
		os.Exit(1)
	}
}

const (
	small   = 1000
	tenant  = "acme"
	appName = "Bench"
	// allowedRatio is the maximum ratio of a duration with the large database to the duration with the small one.
	allowedRatio = 1.5
	// floor is the minimum ratio of the service's request rate to the rate of a bare handler.
	floor = 0.7
)

// bench is a service with one database.
type bench struct {
	n      int // number of envelopes
	store  *store.Store
	pool   *pgxpool.Pool
	server *httptest.Server
	files  blob.Store
	ended  func() // removes the files
	app    uuid.UUID
	tokens *credential.Tokens
	client *countersign.Client // Go client of the app
	bearer string              // access token of the same app
	ids    []string            // IDs of some of the envelopes
	answer []byte              // the service's response for one of these envelopes
}

func now() time.Time { return time.Now().UTC() } //nolint:forbidigo // measurements need the real clock

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) }

func run(ctx context.Context, server string, large int, archive archiveOptions, onlyFill bool) (err error) {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if server == "" {
		pg, err := kit.StartPostgres(ctx, kit.PostgresOptions{Durable: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, pg.Stop(context.WithoutCancel(ctx))) }()
		server = pg.URL
	}
	if archive.n > 0 {
		return measureArchives(ctx, server, archive)
	}
	var both []*bench
	for _, n := range []int{small, large} {
		b, err := setUp(ctx, server, n)
		if err != nil {
			return err
		}
		defer b.close()
		both = append(both, b)
	}
	if onlyFill {
		return nil
	}
	return measure(ctx, both[0], both[1])
}

// database returns the URL of a database on a server, and creates the database if it does not exist.
func database(ctx context.Context, server, name string) (string, error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	there := false
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	if !there {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			return "", fmt.Errorf("create %s: %w", name, err)
		}
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// setUp opens a service with a database of n envelopes.
func setUp(ctx context.Context, server string, n int) (*bench, error) {
	b, err := open(ctx, server, fmt.Sprintf("scale_%d", n), false)
	if err != nil {
		return nil, err
	}
	b.n = n
	find := func() error { return b.pool.QueryRow(ctx, "SELECT id FROM apps WHERE name = $1", appName).Scan(&b.app) }
	if err = find(); errors.Is(err, pgx.ErrNoRows) {
		if err := b.fill(ctx, n); err != nil {
			return nil, err
		}
		err = find()
	}
	return b, err
}

// open opens a service that uses the given database and stores its files in a directory or in S3.
func open(ctx context.Context, server, name string, s3 bool) (*bench, error) {
	url, err := database(ctx, server, name)
	if err != nil {
		return nil, err
	}
	v, err := vault.New("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=") // this key protects only the benchmark's own database
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
	if err := b.openFiles(ctx, s3); err != nil {
		return nil, err
	}
	return b, b.serve(ctx)
}

// openFiles creates an empty file store.
func (b *bench) openFiles(ctx context.Context, s3 bool) (err error) {
	if s3 {
		const page = 1000 // the page size of S3
		bucket := kit.StartS3(page)
		b.ended = bucket.Close
		b.files, err = blob.Open(ctx, bucket.URL)
		return err
	}
	dir, err := os.MkdirTemp("", "countersign-scale-")
	if err != nil {
		return err
	}
	b.ended = func() { _ = os.RemoveAll(dir) }
	b.files, err = blob.OpenDir(dir)
	return err
}

// serve runs the API on the database.
func (b *bench) serve(ctx context.Context) error {
	keys, err := b.store.Keys(ctx, models.KeyTokens)
	if err != nil {
		return err
	}
	tokens, err := credential.NewTokens(keys, now)
	if err != nil {
		return err
	}
	b.tokens = tokens
	b.store.UseArchives(b.files)
	b.server = httptest.NewUnstartedServer(nil)
	base := "http://" + b.server.Listener.Addr().String()
	h, err := api.New(api.Config{
		Store: b.store, Blobs: b.files, Tokens: tokens, BaseURL: base, SigningURL: base + "/sign", RateLimit: 100_000_000, SharedLimits: true, DefaultExpiryDays: 30,
		UploadLimit: 1 << 20, Log: slog.Default(), Now: now, NewID: newID,
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/bare/{app}/{id}", b.bare)
	b.server.Config.Handler = mux
	b.server.Start()
	return nil
}

func (b *bench) close() {
	b.server.Close()
	b.pool.Close()
	_ = b.store.Close() // the process exits soon and releases all connections
	b.ended()
}
