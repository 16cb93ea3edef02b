package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"image"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/clamd"
	"countersign/seal/admission"
	"countersign/seal/sandbox"
	"countersign/test/kit"
)

// TestUpload_IsScanned checks that each endpoint that accepts a PDF rejects known malware, and rejects every file while
// the scanner is unavailable.
func TestUpload_IsScanned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, address string
		status        int
		code          string
	}{
		{"known", kit.Clamd(t, 1<<20, "%PDF"), http.StatusBadRequest, "file_malware"},
		{"too large for it", kit.Clamd(t, 10), http.StatusServiceUnavailable, "scanner_unavailable"},
		{"not there", "unix:///nowhere/clamd.ctl", http.StatusServiceUnavailable, "scanner_unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			scanner, err := clamd.Parse(c.address)
			require.NoError(t, err)
			s := onSQLite(t, func(cfg *api.Config) { cfg.Scanner = scanner })
			app := s.client(t)
			e := app.post("/v1/envelopes", object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(201)
			app.send(http.MethodPost, "/v1/envelopes/"+e.str("id")+"/document", "application/pdf", kit.OnePage()).rejected(c.status, c.code)
			for _, path := range []string{"/v1/console/envelopes/" + e.str("id") + "/documents", "/v1/envelopes"} {
				ct, body := multipartBody(t, map[string]string{"data": `{"tenantId":"acme","signers":[{"name":"A","email":"a@example.com"}]}`}, kit.OnePage())
				if path != "/v1/envelopes" {
					ct, body = multipartBody(t, nil, kit.OnePage())
				}
				app.send(http.MethodPost, path, ct, body).rejected(c.status, c.code)
			}
			app.upload(http.MethodPost, "/v1/templates", leaseTemplate(), kit.OnePage()).rejected(c.status, c.code)
			data := leaseTemplate()
			delete(data, "fields")
			template := app.post("/v1/templates", data).want(201)
			app.upload(http.MethodPatch, "/v1/templates/"+template.str("id"), object{}, kit.OnePage()).rejected(c.status, c.code)
			require.Empty(t, app.get("/v1/envelopes/" + e.str("id")).want(200).body["documents"])
		})
	}
	clean, err := clamd.Parse(kit.Clamd(t, 1<<20, kit.Eicar))
	require.NoError(t, err)
	s := onSQLite(t, func(cfg *api.Config) { cfg.Scanner = clean })
	s.client(t).sent(contract())
}

// countingScanner counts its scans and never finds malware.
type countingScanner struct{ calls atomic.Int32 }

func (s *countingScanner) Scan(context.Context, io.Reader) (string, error) {
	s.calls.Add(1)
	return "", nil
}

// TestUpload_FileIsExaminedLast checks that all other problems in a request are reported before its file is examined.
func TestUpload_FileIsExaminedLast(t *testing.T) {
	t.Parallel()
	scanner := new(countingScanner)
	s := onSQLite(t, func(cfg *api.Config) { cfg.Scanner = scanner })
	c := s.client(t)
	wrong := `{"tenantId":"acme","subject":"` + strings.Repeat("x", 256) + `","createdBy":"` + strings.Repeat("x", 256) + `","expiresInDays":0,"origin":"middle",
		"signers":[{"name":"A","email":"a@example.com"},{"name":"B","email":"b@example.com"}],
		"fields":[{"signerId":"2","type":"text","page":1,"x":1,"y":1,"w":1,"h":1},
			{"signerId":"b@example.com","type":"seal","page":0,"x":-9,"y":1,"w":0},
			{"signerId":"1","documentId":"6e0f1e0a-6a0d-4a54-8f0e-111111111111","type":"date","page":1,"x":1,"y":1,"w":1,"h":1}]}`
	want := []string{
		"subject", "createdBy", "expiresInDays", "origin", "fields[0].signerId", "fields[1].type", "fields[1].page", "fields[1].x", "fields[1].w", "fields[1].h", "fields[2].documentId",
	}
	for _, file := range [][]byte{[]byte("no PDF at all"), kit.OnePage()} {
		ct, body := multipartBody(t, map[string]string{"data": wrong}, file)
		found := c.send(http.MethodPost, "/v1/envelopes", ct, body).rejected(400, "validation_error").body["errors"]
		require.IsType(t, map[string]any{}, found)
		errs, _ := found.(map[string]any)
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(errs)))
		for field, messages := range errs {
			require.Len(t, messages, 1, field)
		}
	}
	for name, fields := range map[string]map[string]string{
		"a tenant that is none": {"data": `{"tenantId":"","signers":[{"name":"A","email":"a@example.com"}]}`},
		"no JSON":               {"data": `{`},
		"flat fields":           {"tenantId": "acme", "signers": `[{"name":"A"}]`},
	} {
		ct, body := multipartBody(t, fields, []byte("no PDF at all"))
		code := c.send(http.MethodPost, "/v1/envelopes", ct, body).want(400).str("error")
		require.Contains(t, []string{"validation_error", "invalid_json"}, code, name)
	}
	require.Zero(t, scanner.calls.Load())
	ct, body := multipartBody(t, map[string]string{"data": `{"tenantId":"acme","signers":[{"name":"A","email":"a@example.com"}],
		"fields":[{"signerId":"0","type":"text","page":2,"x":1,"y":1,"w":1,"h":1}]}`}, kit.OnePage())
	require.Contains(t, c.send(http.MethodPost, "/v1/envelopes", ct, body).rejected(400, "validation_error").body["errors"], "fields[0].page")
	require.EqualValues(t, 1, scanner.calls.Load())
}

// TestUpload_StoresFacts checks that the examination results needed for sealing are stored with the document.
func TestUpload_StoresFacts(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	e := s.client(t).draft(contract())
	stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
	require.NoError(t, err)
	info, err := admission.Admit(t.Context(), bytes.NewReader(kit.OnePage()), int64(len(kit.OnePage())), admission.DefaultLimits())
	require.NoError(t, err)
	require.NotEmpty(t, info.Facts.Encode())
	require.Equal(t, info.Facts.Encode(), stored.Originals()[0].SealFacts)
}

// TestUpload_RejectedByStateBeforeExamination checks that an envelope that accepts no more documents rejects an upload
// without examining its content.
func TestUpload_RejectedByStateBeforeExamination(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, _ := c.sent(contract())
	c.send(http.MethodPost, "/v1/envelopes/"+e.str("id")+"/document", "application/pdf", []byte("no PDF at all")).rejected(400, "envelope_not_draft")
	ct, body := multipartBody(t, nil, []byte("no PDF at all"))
	c.send(http.MethodPost, "/v1/console/envelopes/"+e.str("id")+"/documents", ct, body).rejected(400, "envelope_not_draft")
}

// BenchmarkUpload uploads a 50-page document over HTTP, alternately with and without all options. It reports the total
// CPU time of the service, the validating process, the database driver and the client. Each metric is for one kind of
// document: plain-ms (no script and no options), script-ms (a script, which is always removed), all-ms (a tag and a
// widget on each page) and some-ms (both on every fifth page).
func BenchmarkUpload(b *testing.B) {
	for _, kind := range kit.Databases {
		b.Run(kind, func(b *testing.B) {
			validators := sandbox.New(os.Args[0], "validate-pdf")
			b.Cleanup(validators.Close)
			s := start(b, kit.MigratedURL(b, kind), func(c *api.Config) {
				c.Log = slog.New(slog.DiscardHandler)
				c.Admission = admission.DefaultLimits()
				c.Admission.Validators = validators
			})
			token, err := s.cfg.Tokens.IssueAccess(s.app.ID)
			require.NoError(b, err)
			send := func(method, path, kind string, body []byte, want int) []byte {
				req, err := http.NewRequestWithContext(b.Context(), method, s.URL+path, bytes.NewReader(body))
				require.NoError(b, err)
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("Content-Type", kind)
				res, err := http.DefaultClient.Do(req)
				require.NoError(b, err)
				defer func() { require.NoError(b, res.Body.Close()) }()
				out, err := io.ReadAll(res.Body)
				require.NoError(b, err)
				require.Equal(b, want, res.StatusCode, string(out))
				return out
			}
			draft, err := json.Marshal(object{"tenantId": "acme", "signers": []object{{"name": "A", "email": "a@example.com"}}})
			require.NoError(b, err)
			tagged, some := kit.TaggedPages(50, 1), kit.TaggedPages(50, 5)
			cases := []struct {
				name, query string
				file        []byte
				spent       time.Duration
			}{
				{"plain", "", kit.WithoutScript(tagged), 0},
				{"script", "", tagged, 0},
				{"all", "?tags=detect&form=import", tagged, 0},
				{"some", "?tags=detect&form=import", some, 0},
			}
			for b.Loop() {
				for i := range cases {
					c := &cases[i]
					var e struct{ ID string }
					require.NoError(b, json.Unmarshal(send(http.MethodPost, "/v1/envelopes", "application/json", draft, 201), &e))
					before := processorTime(b)
					send(http.MethodPost, "/v1/envelopes/"+e.ID+"/document"+c.query, "application/pdf", c.file, 200)
					c.spent += processorTime(b) - before
				}
			}
			for _, c := range cases {
				b.ReportMetric(float64(c.spent.Microseconds())/1000/float64(b.N), c.name+"-ms")
			}
			b.ReportMetric(float64(cases[2].spent)/float64(cases[0].spent), "all/plain")
			b.ReportMetric(float64(cases[3].spent)/float64(cases[0].spent), "some/plain")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// processorTime returns the CPU time used so far by this process and the validating processes.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var total time.Duration
	for _, of := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} { // RUSAGE_CHILDREN covers child processes that have exited
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(of, &u))
		total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(b, err)
	for _, list := range lists {
		pids, err := os.ReadFile(list)
		if err != nil { // the thread has ended
			continue
		}
		for _, pid := range bytes.Fields(pids) {
			threads, err := filepath.Glob("/proc/" + string(pid) + "/task/*/schedstat")
			require.NoError(b, err)
			for _, name := range threads {
				stat, err := os.ReadFile(name)
				if err != nil {
					continue
				}
				spent, _, _ := bytes.Cut(stat, []byte(" "))
				n, err := strconv.ParseInt(string(spent), 10, 64) // in nanoseconds
				require.NoError(b, err)
				total += time.Duration(n)
			}
		}
	}
	return total
}

// TestUpload_OfPictures_BecomesADocument checks that every endpoint that accepts documents converts an image to a
// one-page document.
func TestUpload_OfPictures_BecomesADocument(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := contract()
		data["fields"] = nil
		png := kit.Signature()
		e := c.upload(http.MethodPost, "/v1/envelopes", data, png).want(201)
		first := e.document(0)
		require.Equal(t, "contract.pdf", first["name"])
		require.EqualValues(t, 1, first["pageCount"])
		at := "/v1/envelopes/" + e.str("id")
		pdf := c.get(at + "/document").want(200)
		sum := sha256.Sum256(pdf.raw)
		require.Equal(t, "%PDF-1.7", string(pdf.raw[:8]))
		require.Equal(t, hex.EncodeToString(sum[:]), first["sha256"])
		c.get(at + "/documents/" + first["id"].(string) + "/pages/1").want(200)
		require.Empty(t, c.get(at + "/documents/" + first["id"].(string) + "/pages/1/text").want(200).body["words"])

		for _, kind := range []string{"image/png", "image/jpeg", "application/octet-stream"} { // the format is detected from the content
			draft := c.draft(data)
			again := c.send(http.MethodPost, "/v1/envelopes/"+draft.str("id")+"/document", kind, png).want(200)
			require.Equal(t, first["sha256"], again.str("sha256"), "the same image must become the same document")
		}
		// Each additional image becomes another document, in the order of the uploads.
		for i, kind := range []string{"image/jpeg", "image/png"} {
			file := photo(t, 1)
			if kind == "image/png" {
				file = png
			}
			added := c.send(http.MethodPost, at+"/document", kind, file).want(200)
			all := c.get(at).want(200)
			require.Len(t, all.body["documents"], i+2)
			require.Equal(t, added.str("documentId"), all.document(i + 1)["id"])
			require.EqualValues(t, 1, all.document(i + 1)["pageCount"])
			require.Equal(t, added.str("sha256"), all.document(i + 1)["sha256"])
			shown := c.get(at + "/documents/" + added.str("documentId") + "/pages/1?level=1").want(200)
			page, _, err := image.Decode(bytes.NewReader(shown.raw))
			require.NoError(t, err)
			require.NotContains(t, string(c.get(at+"/document?documentId="+added.str("documentId")).want(200).raw), "GPS 48.2N")
			if kind == "image/jpeg" { // landscape, and red on the left
				require.Greater(t, page.Bounds().Dx(), page.Bounds().Dy())
				r, g, b, _ := page.At(page.Bounds().Dx()/4, page.Bounds().Dy()/4).RGBA()
				require.True(t, r > 0xE000 && g < 0x2000 && b < 0x2000, "%x %x %x", r, g, b)
			}
		}

		draft := "/v1/envelopes/" + c.draft(data).str("id") + "/document"
		c.send(http.MethodPost, draft, "image/png", png[:len(png)-9]).rejected(400, "picture_invalid")
		c.send(http.MethodPost, draft, "image/gif", []byte("GIF89a")).rejected(400, "content_type")
		large := bytes.Clone(png)
		binary.BigEndian.PutUint32(large[16:], 60_000)
		binary.BigEndian.PutUint32(large[29:], crc32.ChecksumIEEE(large[12:29]))
		c.send(http.MethodPost, draft, "image/png", large).rejected(400, "picture_too_large")
	})
}
