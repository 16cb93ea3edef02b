package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/internal/testkit"
	"countersign/seal/admission"
	"countersign/seal/sandbox"
)

// BenchmarkUpload uploads a document of 50 pages over HTTP, in turn plainly and with all options, and reports the
// processor time of each: of the service, the process that validates, the database's driver and the client together. plain-ms has no option and the
// document has no script; script-ms is the same with the script, which is taken out unasked. all-ms has a tag and a
// widget on each page, some-ms on every fifth.
func BenchmarkUpload(b *testing.B) {
	for name, url := range databases {
		b.Run(name, func(b *testing.B) {
			validators := sandbox.New(os.Args[0], "validate-pdf")
			b.Cleanup(validators.Close)
			s := start(b, url(b), func(c *api.Config) {
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
			tagged, some := testkit.TaggedPages(50, 1), testkit.TaggedPages(50, 5)
			cases := []struct {
				name, query string
				file        []byte
				spent       time.Duration
			}{
				{"plain", "", testkit.WithoutScript(tagged), 0},
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

// processorTime is what this process and the one that validates have taken so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var total time.Duration
	for _, of := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} { // children that have ended
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
				n, err := strconv.ParseInt(string(spent), 10, 64) // nanoseconds
				require.NoError(b, err)
				total += time.Duration(n)
			}
		}
	}
	return total
}
