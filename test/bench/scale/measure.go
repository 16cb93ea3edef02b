package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

const (
	rounds       = 150
	fewestRounds = 20
	passLimit    = 10 * time.Second // after fewestRounds
	signCalls    = 40
)

const getPath = "/v1/envelopes/{id}"

// reads lists the measured requests. {id} is the ID of an envelope that has all of its rows. {number} is a number that
// occurs in the subject and external ID of exactly one envelope. Half of the envelopes were created and last changed
// before {middle}, and one tenth between {middle} and {later}.
var reads = []struct{ name, path string }{
	{"get", getPath},
	{"list", "/v1/envelopes?tenantId=" + tenant},
	{"list, completed", "/v1/envelopes?tenantId=" + tenant + "&status=completed"},
	{"list, in progress", "/v1/envelopes?tenantId=" + tenant + "&status=in_progress"},
	{"list, page 10", "/v1/envelopes?tenantId=" + tenant + "&page=10"},
	{"console, all tenants", "/v1/console/envelopes"},
	{"home", "/v1/console/home"},
	{"home, one tenant", "/v1/console/home?tenantId=" + tenant},
	{"inbox, action needed", "/v1/console/envelopes?inbox=action_needed"},
	{"the same, one tenant", "/v1/console/envelopes?inbox=action_needed&tenantId=" + tenant},
	{"inbox, waiting", "/v1/console/envelopes?inbox=waiting"},
	{"search, a number", "/v1/console/envelopes?search={number}"},
	{"search, a name of all", "/v1/console/envelopes?search=byron"},
	{"search, an address", "/v1/console/envelopes?search=nobody@example.com"},
	{"address, completed", "/v1/console/envelopes?search=nobody@example.com&status=completed"},
	{"number, completed", "/v1/console/envelopes?search={number}&status=completed"},
	{"name, completed", "/v1/console/envelopes?search=byron&status=completed"},
	{"number, one tenant", "/v1/console/envelopes?search={number}&tenantId=" + tenant},
	{"q, a number", "/v1/envelopes?tenantId=" + tenant + "&q={number}"},
	{"q, a name of all", "/v1/envelopes?tenantId=" + tenant + "&q=byron"},
	{"signer of none", "/v1/envelopes?tenantId=" + tenant + "&signerEmail=nobody@example.com"},
	{"domain of all", "/v1/console/envelopes?search=example.com"},
	{"changed since a time", "/v1/envelopes?tenantId=" + tenant + "&sort=updatedAt&updatedSince={middle}"},
	{"the same, newest first", "/v1/envelopes?tenantId=" + tenant + "&updatedSince={middle}"},
	{"made after a time", "/v1/envelopes?tenantId=" + tenant + "&createdAfter={middle}"},
	{"made before a time", "/v1/envelopes?tenantId=" + tenant + "&createdBefore={middle}"},
	{"made between two", "/v1/envelopes?tenantId=" + tenant + "&createdAfter={middle}&createdBefore={later}"},
	{"the same, completed", "/v1/console/envelopes?createdAfter={middle}&createdBefore={later}&status=completed"},
	{"made in half an hour", "/v1/envelopes?tenantId=" + tenant + "&createdAfter=2023-11-14T22:15:00Z&createdBefore=2023-11-14T22:45:00Z"},
	{"an external id", "/v1/envelopes?tenantId=" + tenant + "&externalId=order-{number}"},
	{"the month's usage", "/v1/console/usage"},
}

// measure compares the two databases, and compares the service with a bare handler on the larger one.
func measure(ctx context.Context, few, many *bench) error {
	for _, b := range []*bench{few, many} {
		if err := b.choose(ctx); err != nil {
			return err
		}
	}
	var over []string
	say("%-22s %12s %12s %8s", "p50", fmt.Sprint(few.n), fmt.Sprint(many.n), "ratio")
	tell := func(name string, took [2][]time.Duration) {
		a, z := median(took[0]), median(took[1])
		ratio, mark := float64(z)/float64(a), ""
		if ratio > allowedRatio {
			mark, over = "  over the limit", append(over, name)
		}
		say("%-22s %12s %12s %7.2f×%s", name, a.Round(time.Microsecond), z.Round(time.Microsecond), ratio, mark)
	}
	for _, r := range reads {
		took, err := compareRead(ctx, few, many, r.path)
		if err != nil {
			return err
		}
		tell(r.name, took)
	}
	took, err := compareSigning(ctx, few, many)
	if err != nil {
		return err
	}
	tell("sign", took)
	if err := many.sizes(ctx, many.n); err != nil {
		return err
	}
	if err := errors.Join(many.plans(ctx), many.compareWithBareHandler(ctx)); err != nil {
		return err
	}
	if len(over) > 0 {
		return fmt.Errorf("slower than %.1f × the time with %d envelopes: %s", allowedRatio, few.n, strings.Join(over, "; "))
	}
	return nil
}

// choose selects some of the envelopes that have all their rows, and obtains an access token.
func (b *bench) choose(ctx context.Context) (err error) {
	if b.bearer, err = b.tokens.IssueAccess(b.app); err != nil {
		return err
	}
	app, err := b.store.App(ctx, b.app)
	if err != nil {
		return err
	}
	secret, err := b.store.AddSecret(ctx, b.app, time.Hour)
	if err != nil {
		return err
	}
	if b.client, err = countersign.New(b.server.URL, app.ClientID.String(), secret, countersign.WithRetries(0)); err != nil {
		return err
	}
	for i := range rounds {
		g := 1 + i*(b.n/wholeOf/rounds)*wholeOf
		var id string
		if err := b.pool.QueryRow(ctx, "SELECT "+strings.ReplaceAll(uuidOf("a"), "g", "$1::bigint")+"::text", g).Scan(&id); err != nil {
			return fmt.Errorf("choose envelopes: %w", err)
		}
		b.ids = append(b.ids, id)
	}
	return nil
}

// compareRead alternates between the two databases, so that other load on the machine affects both of them. The first
// pass reads the pages from disk and is not counted.
func compareRead(ctx context.Context, few, many *bench, path string) (took [2][]time.Duration, err error) {
	for range 2 {
		took = [2][]time.Duration{}
		for start, i := now(), 0; i < rounds && (i < fewestRounds || now().Sub(start) < passLimit); i++ {
			for k, b := range []*bench{few, many} {
				made := func(g int) string { return time.Unix(int64(startSeconds+g*secondsApart), 0).UTC().Format(time.RFC3339) }
				at := strings.NewReplacer("{id}", b.ids[i], "{number}", fmt.Sprint(b.n/2+i), "{middle}", made(b.n/2), "{later}", made(b.n*6/10)).Replace(path)
				t, err := b.read(ctx, at)
				if err != nil {
					return took, err
				}
				took[k] = append(took[k], t)
			}
		}
	}
	return took, nil
}

// compareSigning creates, sends and signs envelopes alternately in the two databases, and measures the duration of
// signing.
func compareSigning(ctx context.Context, few, many *bench) (took [2][]time.Duration, err error) {
	for i := range signCalls + signCalls/4 {
		for k, b := range []*bench{few, many} {
			t, err := b.sign(ctx)
			if err != nil {
				return took, err
			}
			if i >= signCalls/4 {
				took[k] = append(took[k], t)
			}
		}
	}
	return took, nil
}

// sign returns the duration of the sign call for an envelope with two signers.
func (b *bench) sign(ctx context.Context) (time.Duration, error) {
	in := countersign.EnvelopeRequest{TenantID: tenant, Subject: countersign.Ptr("To be signed")}
	for _, signer := range []string{"0", "1"} {
		in.Signers = append(in.Signers, countersign.SignerRequest{Name: "Ada Byron", Email: "ada" + signer + "@example.com", AuthMethod: countersign.Ptr(api.SignerRequestAuthMethodNone)})
		in.Fields = append(in.Fields, countersign.NewField(api.FieldTypeSignature, signer, 1, 72, 100, 150, 50), countersign.NewField(api.FieldTypeText, signer, 1, 300, 100, 150, 20))
	}
	e, err := b.client.Create(ctx, in)
	if err != nil {
		return 0, err
	}
	if _, err := b.client.Upload(ctx, e.ID, bytes.NewReader(kit.OnePage())); err != nil {
		return 0, err
	}
	if e, err = b.client.Send(ctx, e.ID, ""); err != nil {
		return 0, err
	}
	var values []map[string]any
	for _, f := range e.Fields {
		switch {
		case f.SignerID != e.Signers[0].ID:
		case f.Type == api.FieldTypeSignature:
			values = append(values, map[string]any{"fieldId": f.ID, "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())})
		default:
			values = append(values, map[string]any{"fieldId": f.ID, "textValue": "Value"})
		}
	}
	link := *e.Signers[0].SigningURL
	path := "/v1/signing/" + link[strings.LastIndex(link, "/")+1:]
	if _, err := b.request(ctx, http.MethodPost, path+"/consent", map[string]any{}); err != nil {
		return 0, err
	}
	return b.request(ctx, http.MethodPost, path+"/sign", map[string]any{"fields": values})
}

func (b *bench) read(ctx context.Context, path string) (time.Duration, error) {
	return b.request(ctx, http.MethodGet, path, nil)
}

// request returns the duration of a request until its response has been read.
func (b *bench) request(ctx context.Context, method, path string, body any) (time.Duration, error) {
	took, _, err := b.exchange(ctx, method, path, body)
	return took, err
}

func (b *bench) bytesOf(ctx context.Context, path string) ([]byte, error) {
	_, answer, err := b.exchange(ctx, http.MethodGet, path, nil)
	return answer, err
}

func (b *bench) exchange(ctx context.Context, method, path string, body any) (time.Duration, []byte, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.server.URL+path, content)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if !strings.HasPrefix(path, "/v1/signing/") {
		req.Header.Set("Authorization", "Bearer "+b.bearer)
	}
	start := now()
	res, err := b.server.Client().Do(req)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(res.Body)
	took := now().Sub(start)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return 0, nil, err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return 0, nil, fmt.Errorf("%.60s: %s: %.300s", path, res.Status, answer)
	}
	return took, answer, nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// plans checks PostgreSQL's query plans. No query may scan all rows of a growing table.
func (b *bench) plans(ctx context.Context) error {
	var bad []error
	for name, sql := range map[string]string{
		"list":   `SELECT id FROM envelopes WHERE app_id = $1 AND tenant_id = 'acme' ORDER BY id DESC LIMIT 20`,
		"status": `SELECT id FROM envelopes WHERE app_id = $1 AND tenant_id = 'acme' AND status = 'draft' ORDER BY id DESC LIMIT 20`,
		"audit":  `SELECT * FROM audit_events WHERE envelope_id = $1 ORDER BY seq`,
	} {
		rows, err := b.pool.Query(ctx, "EXPLAIN "+sql, b.app)
		if err != nil {
			return fmt.Errorf("explain %s: %w", name, err)
		}
		var plan []string
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return fmt.Errorf("explain %s: %w", name, err)
			}
			plan = append(plan, line)
		}
		rows.Close()
		if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan") {
			bad = append(bad, fmt.Errorf("%s scans a whole table:\n%s", name, text))
		}
	}
	return errors.Join(bad...)
}

// bare handles a read at the lowest possible cost. Like the service, it runs the queries in one transaction and one
// round trip, but it applies none of the service's rules and returns a response that the service created earlier.
func (b *bench) bare(w http.ResponseWriter, r *http.Request) {
	app, id := r.PathValue("app"), r.PathValue("id")
	read := func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if _, err := rows.Values(); err != nil {
				return err
			}
		}
		return rows.Err()
	}
	var batch pgx.Batch
	batch.Queue("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	batch.Queue("SELECT * FROM envelopes WHERE id = $1 AND app_id = $2 AND status <> 'deleted'", id, app).Query(read)
	batch.Queue("SELECT * FROM signers WHERE envelope_id IN ($1) ORDER BY position", id).Query(read)
	batch.Queue("SELECT * FROM fields WHERE envelope_id IN ($1) ORDER BY position", id).Query(read)
	batch.Queue("SELECT * FROM documents WHERE envelope_id IN ($1) ORDER BY kind, document_order", id).Query(read)
	batch.Queue("SELECT * FROM audit_events WHERE envelope_id = $1 ORDER BY seq", id).Query(read)
	batch.Queue("SELECT field_id, envelope_id, signer_id, text, image_sha256, created_at FROM field_values WHERE envelope_id = $1", id).Query(read)
	batch.Queue("COMMIT")
	if err := b.pool.SendBatch(r.Context(), &batch).Close(); err != nil {
		http.Error(w, "query", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.answer)
}

const (
	clients         = 4
	measureInterval = 2 * time.Second
	measureRepeats  = 4
)

// compareWithBareHandler measures requests to the service and to the bare handler alternately.
func (b *bench) compareWithBareHandler(ctx context.Context) error {
	var err error
	if b.answer, err = b.bytesOf(ctx, strings.ReplaceAll(getPath, "{id}", b.ids[0])); err != nil {
		return err
	}
	var served, bare int
	for range measureRepeats {
		n, err := b.sendConcurrently(ctx, getPath)
		if err != nil {
			return err
		}
		m, err := b.sendConcurrently(ctx, "/bare/"+b.app.String()+"/{id}")
		if err != nil {
			return err
		}
		served, bare = served+n, bare+m
	}
	seconds := (measureInterval * measureRepeats).Seconds()
	ratio := float64(served) / float64(bare)
	say("\nget, %d clients: %.0f requests/s; a bare handler with the same SQL: %.0f; %.2f×", clients, float64(served)/seconds, float64(bare)/seconds, ratio)
	if ratio < floor {
		return fmt.Errorf("get reaches only %.2f of a bare handler's rate; the goal is %.2f", ratio, floor)
	}
	return nil
}

func (b *bench) sendConcurrently(ctx context.Context, path string) (int, error) {
	end := now().Add(measureInterval)
	counts, errs := make([]int, clients), make([]error, clients)
	var wg sync.WaitGroup
	for k := range clients {
		wg.Go(func() {
			for i := k; now().Before(end); i++ {
				if _, err := b.read(ctx, strings.ReplaceAll(path, "{id}", b.ids[i%len(b.ids)])); err != nil {
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
