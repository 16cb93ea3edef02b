package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
	"countersign/test/kit/contractcheck"
)

const (
	hostileRequests = 500       // number of concurrent requests
	hostileMemory   = 400 << 20 // maximum memory of the process in bytes
)

// TestHostileBodies checks that 500 concurrent requests with hostile bodies, on any route and with any credential, do
// not increase the API process's memory usage above 400 MB. Each request of a round sends its last byte only after all
// others have sent everything else, so that the process must hold all bodies at the same time.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("peak memory is read from /proc, which exists only on Linux")
		return
	}
	s := production(t, "COUNTERSIGN_RATE_LIMIT=1000000", "GOMEMLIMIT=off")
	a := &attack{s: s, client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 0, DisableKeepAlives: true, DisableCompression: true}}}
	a.prepare(t)
	t.Logf("before: %s", megabytes(a.peak(t)))

	rounds := map[string][]hostile{}
	var everything []hostile
	for _, op := range a.operations(t) {
		everything = append(everything, op...)
	}
	for i := 0; i < len(everything); i += hostileRequests {
		rounds[fmt.Sprintf("every route, from %d", i)] = everything[i:min(i+hostileRequests, len(everything))]
	}
	for name, bodies := range a.gravest() {
		for len(bodies) < hostileRequests {
			bodies = append(bodies, bodies[:min(len(bodies), hostileRequests-len(bodies))]...)
		}
		rounds[name] = bodies
	}
	maps.Copy(rounds, a.largest(t))
	for _, name := range slices.Sorted(maps.Keys(rounds)) {
		a.resetPeak(t)
		start := time.Now()
		answers := a.round(t, rounds[name])
		peak := a.peak(t)
		t.Logf("%s: %d requests, %s, %s, answers %v", name, len(rounds[name]), megabytes(peak), time.Since(start).Round(time.Millisecond), answers)
		require.Less(t, peak, int64(hostileMemory), name)
		require.Zero(t, answers[http.StatusInternalServerError], name)
	}
	a.time(t)
	ready(t, s.BaseURL)
}

// hostile is a request with a hostile body.
type hostile struct {
	method, path, contentType, credential string
	body                                  func() (io.Reader, int64)
}

type attack struct {
	s        *service
	client   *http.Client
	app      string // access token of the app
	envelope string // ID of the envelope whose signing link is in signing
	signing  string // signing path of a signer with one image field
	few      string // signing path of a signer whose envelope receives no other requests
	many     string // signing path of a signer with many image fields
	fields   []string
}

func (a *attack) prepare(t *testing.T) {
	t.Helper()
	c := a.s.login(t)
	a.app = c.token
	envelope := func(signatures int) (id, link string, fields []string) {
		var list []object
		for i := range signatures {
			list = append(list, object{"signerId": "0", "type": "signature", "page": 1, "x": 10, "y": 10 + i, "w": 90, "h": 30})
		}
		list = append(list, object{"signerId": "0", "type": "attachment", "page": 1, "x": 10, "y": 500, "w": 90, "h": 30})
		e := c.create(t, http.StatusCreated, object{"tenantId": "acme", "subject": "S", "signers": []object{{"name": "A", "email": "a@example.com", "authMethod": "none"}}, "fields": list}, kit.OnePage())
		id = e.str("id")
		sent := c.call(t, http.StatusOK, http.MethodPost, "/v1/envelopes/"+id+"/send", nil)
		link = "/v1/signing/" + path.Base(sent.list("signers")[0].str("signingUrl"))
		c.call(t, http.StatusOK, http.MethodPost, link+"/consent", nil)
		for _, f := range sent.list("fields") {
			fields = append(fields, f.str("id"))
		}
		return id, link, fields
	}
	a.envelope, a.signing, _ = envelope(1)
	_, a.few, _ = envelope(1)
	_, a.many, a.fields = envelope(12)
}

// operations returns requests for each operation in the contract. Each operation is called with every hostile body that
// its content types allow, with and without its credential.
func (a *attack) operations(t *testing.T) (all [][]hostile) {
	t.Helper()
	c := &client{base: a.s.BaseURL}
	_, text := c.do(t, http.MethodGet, "/openapi.yaml", "", nil)
	_, console := c.do(t, http.MethodGet, "/console.yaml", "", nil)
	doc, err := contractcheck.Load(text, console)
	require.NoError(t, err)
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	for _, template := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		for method, op := range doc.Paths.Value(template).Operations() {
			if method == http.MethodGet || method == http.MethodHead {
				continue
			}
			at := template
			if rest, ok := strings.CutPrefix(at, "/v1/signing/{token}"); ok {
				at = a.signing + rest
			}
			if strings.Contains(at, "envelopes/{id}") {
				at = strings.Replace(at, "{id}", a.envelope, 1)
			}
			at = parameter.ReplaceAllStringFunc(at, func(string) string { return uuid.NewString() })
			shapes := jsonShapes(1 << 20)
			kind := "application/json"
			if op.RequestBody != nil {
				for k := range op.RequestBody.Value.Content {
					if k != "application/json" {
						kind, shapes = k, append(shapes, shapesOf(k)...)
					}
				}
			}
			var of []hostile
			for i, shape := range shapes {
				contentType := "application/json"
				if i >= len(jsonShapes(1)) {
					contentType = kind
				}
				if strings.HasPrefix(contentType, "multipart/") {
					contentType = "multipart/form-data; boundary=b"
				}
				credential := a.app
				if i%4 == 3 {
					credential = ""
				}
				of = append(of, hostile{method, at, contentType, credential, shape})
			}
			all = append(all, of)
		}
	}
	require.Greater(t, len(all), 60)
	return all
}

// gravest returns requests to the routes that use the most memory, grouped by route.
func (a *attack) gravest() map[string][]hostile {
	of := func(path, contentType, credential string, shapes []func() (io.Reader, int64)) (out []hostile) {
		for _, shape := range shapes {
			out = append(out, hostile{http.MethodPost, path, contentType, credential, shape})
		}
		return out
	}
	const json, form, multi = "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	return map[string][]hostile{
		"login":                of("/v1/console/login", json, "", append(jsonShapes(8<<10), jsonShapes(1<<20)...)),
		"token":                of("/oauth/token", form, "", shapesOf(form)),
		"create, JSON":         of("/v1/envelopes", json, a.app, jsonShapes(1<<20)),
		"create, form":         of("/v1/envelopes", multi, a.app, shapesOf(multi)),
		"create, many members": of("/v1/envelopes", json, a.app, jsonShapes(16<<10)),
		"attachment":           of(a.few+"/attachments", multi, "", shapesOf(multi)),
		"decline":              of(a.signing+"/decline", json, "", jsonShapes(64<<10)),
		"verify":               of("/v1/verify", multi, "", shapesOf(multi)),
		"sign, small":          of(a.few+"/sign", json, "", jsonShapes(90<<10)),
	}
}

// largest returns rounds of requests with the largest bodies. A test machine does not have enough disk space for 500
// such requests.
func (a *attack) largest(t *testing.T) map[string][]hostile {
	t.Helper()
	sign := func(size int) (out []hostile) {
		for _, shape := range jsonShapes(size) {
			out = append(out, hostile{http.MethodPost, a.many + "/sign", "application/json", "", shape})
		}
		return out
	}
	var pictures bytes.Buffer
	pictures.WriteString(`{"fields":[`)
	for i, id := range a.fields[:12] {
		if i > 0 {
			pictures.WriteByte(',')
		}
		_, _ = fmt.Fprintf(&pictures, `{"fieldId":%q,"signatureImageBase64":%q}`, id, base64.StdEncoding.EncodeToString(blank(t, 2000+i, 1000, true)))
	}
	pictures.WriteString(`]}`)
	drawn := hostile{http.MethodPost, a.many + "/sign", "application/json", "", fixed(pictures.Bytes())}
	photo := []byte("--b\r\nContent-Disposition: form-data; name=\"fieldId\"\r\n\r\n" + a.fields[12] + "\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n" +
		string(blank(t, 7000, 7000, false)) + "\r\n--b--\r\n")
	attached := hostile{http.MethodPost, a.many + "/attachments", "multipart/form-data; boundary=b", "", fixed(photo)}
	logo := []byte(`{"logo":"` + base64.StdEncoding.EncodeToString(blank(t, 2900, 2800, false)) + `"}`)
	brand := hostile{http.MethodPut, "/v1/tenants/acme/branding", "application/json", a.app, fixed(logo)}
	rows := hostile{http.MethodPost, "/v1/bulk-sends", "application/json", a.app, repeated(`{"templateId":"`+uuid.NewString()+`","tenantId":"acme","rows":[{"signers":[]}`, `,{"signers":[{}]}`, `]}`, 32<<20)}
	table := hostile{http.MethodPost, "/v1/bulk-sends?tenantId=acme&templateId=" + uuid.NewString(), "text/csv", a.app, repeated("externalId,a.name\r\n", "\"a\",b\r\n", "", 32<<20)}
	cell := hostile{http.MethodPost, "/v1/bulk-sends?tenantId=acme&templateId=" + uuid.NewString(), "text/csv", a.app, repeated("externalId,a.name\r\n\"", "aaaaaaaaaaaaaaaa\r\n", "", 32<<20)}
	large := sign(12 << 20)
	return map[string][]hostile{
		"sign, large":  slices.Concat(large, large),
		"pictures":     slices.Repeat([]hostile{drawn}, 3),
		"photographs":  slices.Repeat([]hostile{attached}, 8),
		"logos":        slices.Repeat([]hostile{brand}, 30),
		"bulk, rows":   slices.Repeat([]hostile{rows}, 4),
		"bulk, tables": {table, cell, table, cell},
	}
}

// round sends requests concurrently. Their last bytes are sent once all other bytes have arrived. It returns the
// number of responses by status, where 0 is a closed connection.
func (a *attack) round(t *testing.T, requests []hostile) map[int]int {
	t.Helper()
	var waiting sync.WaitGroup
	waiting.Add(len(requests))
	all := make(chan struct{})
	go func() { waiting.Wait(); close(all) }()
	release := make(chan struct{})
	var mu sync.Mutex
	answers := make(map[int]int)
	var done sync.WaitGroup
	for _, h := range requests {
		done.Go(func() {
			var once sync.Once
			arrived := func() { once.Do(waiting.Done) }
			status := a.send(t.Context(), h, arrived, release)
			arrived()
			mu.Lock()
			defer mu.Unlock()
			answers[status]++
		})
	}
	select {
	case <-all:
	case <-time.After(20 * time.Second): // continue, because bodies that are still being received use memory, too
	}
	close(release)
	done.Wait()
	return answers
}

func (a *attack) send(ctx context.Context, h hostile, arrived func(), release <-chan struct{}) int {
	r, n := h.body()
	req, err := http.NewRequestWithContext(ctx, h.method, a.s.BaseURL+h.path, &heldBody{r: r, left: n, arrived: arrived, release: release})
	if err != nil {
		return -1
	}
	req.ContentLength = n
	req.Header.Set("Content-Type", h.contentType)
	if h.credential != "" {
		req.Header.Set("Authorization", "Bearer "+h.credential)
	}
	res, err := a.client.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }() // the body was read as far as possible
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// heldBody is a body that withholds its last byte until release is closed.
type heldBody struct {
	r       io.Reader
	left    int64
	arrived func()
	release <-chan struct{}
}

func (b *heldBody) Read(p []byte) (int, error) {
	if b.left == 1 {
		b.arrived()
		<-b.release
	} else if b.left > 1 {
		p = p[:min(int64(len(p)), b.left-1)]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

func (a *attack) status(t *testing.T, name string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.s.api.cmd.Process.Pid))
	require.NoError(t, err)
	m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(b)
	require.NotNil(t, m)
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	require.NoError(t, err)
	return n << 10
}

// peak returns the peak resident memory of the API process since resetPeak, in bytes.
func (a *attack) peak(t *testing.T) int64 {
	t.Helper()
	return a.status(t, "VmHWM")
}

func (a *attack) resetPeak(t *testing.T) {
	t.Helper()
	// See proc(5).
	require.NoError(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", a.s.api.cmd.Process.Pid), []byte("5"), 0o600))
}

// time logs the CPU time that the service uses to reject a hostile body.
func (a *attack) time(t *testing.T) {
	t.Helper()
	ticks := func() int {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.s.api.cmd.Process.Pid))
		require.NoError(t, err)
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')'):]))
		user, err1 := strconv.Atoi(f[12])
		system, err2 := strconv.Atoi(f[13])
		require.NoError(t, err1)
		require.NoError(t, err2)
		return user + system
	}
	var sent atomic.Int64
	before := ticks()
	for range 5 {
		for _, shape := range jsonShapes(1 << 20) {
			release := make(chan struct{})
			close(release)
			a.send(t.Context(), hostile{http.MethodPost, "/v1/envelopes", "application/json", a.app, shape}, func() {}, release)
			sent.Add(1)
		}
	}
	// There are 100 ticks per second.
	t.Logf("a hostile body of 1 MiB uses %.1f ms of CPU time", float64(ticks()-before)*10/float64(sent.Load()))
}

func megabytes(n int64) string { return fmt.Sprintf("%d MB", n/1_000_000) }

func fixed(b []byte) func() (io.Reader, int64) {
	return func() (io.Reader, int64) { return bytes.NewReader(b), int64(len(b)) }
}

// repeated returns a function that creates a body of about the given size in bytes, with a repeated middle part.
func repeated(begin, middle, end string, size int) func() (io.Reader, int64) {
	return func() (io.Reader, int64) {
		n := max(1, (size-len(begin)-len(end))/len(middle))
		return io.MultiReader(strings.NewReader(begin), &repeatReader{text: middle, times: n}, strings.NewReader(end)), int64(len(begin) + n*len(middle) + len(end))
	}
}

type repeatReader struct {
	text  string
	times int
	at    int
}

func (r *repeatReader) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if r.times == 0 {
			return n, io.EOF
		}
		m := copy(b[n:], r.text[r.at:])
		n += m
		if r.at += m; r.at == len(r.text) {
			r.at = 0
			r.times--
		}
	}
	return n, nil
}

// numbered is like repeated, but numbers the repeated parts to make the names in them unique.
func numbered(begin, format, end string, size int) func() (io.Reader, int64) {
	return func() (io.Reader, int64) {
		var b bytes.Buffer
		b.WriteString(begin)
		for i := 0; b.Len() < size-len(end)-20; i++ {
			_, _ = fmt.Fprintf(&b, format, i)
		}
		b.WriteString(end)
		return &b, int64(b.Len())
	}
}

// jsonShapes returns JSON bodies of about the given size in bytes that are expensive to parse or to read.
func jsonShapes(size int) []func() (io.Reader, int64) {
	under := min(size, 270_000) // stays below the limit on the number of values
	return []func() (io.Reader, int64){
		repeated(`{"a":[[]`, `,[]`, `]}`, size),
		repeated(`{"a":[{"a":0}`, `,{"a":0}`, `]}`, size),
		repeated(`{"a":[[]`, `,[]`, `]}`, under),
		repeated(`{"a":[{"a":0}`, `,{"a":0}`, `]}`, under),
		numbered(`{"a":0`, `,"%d":0`, `}`, size),
		numbered(`{"a":0`, `,"%d":0`, `}`, under),
		repeated(`{"a":"`, `\u00e9`, `"}`, size),
		repeated(``, `[`, ``, size),
		repeated(`{"a":`, `1`, `}`, size),
		repeated(`{"fields":[{}`, `,{}`, `]}`, min(size, 6000)),
		repeated(`{"tenantId":"a","signers":[{}`, `,{"name":"a","email":"b"}`, `]}`, min(size, 2000)),
		repeated(``, `x`, ``, size),
	}
}

// shapesOf returns hostile bodies of other content types.
func shapesOf(kind string) []func() (io.Reader, int64) {
	head := func(name string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n"
	}
	switch {
	case strings.HasPrefix(kind, "multipart/"):
		arrays := ""
		for range 19 {
			arrays += head("fields") + "[" + strings.Repeat("[],", 17_000) + "[]]\r\n"
		}
		return []func() (io.Reader, int64){
			repeated("", head("a")+"\r\n", "--b--\r\n", 1<<20),
			repeated("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n", "A: b\r\n", "\r\n\r\n--b--\r\n", 2<<20),
			numbered("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n", "A%d: b\r\n", "\r\n\r\n--b--\r\n", 1<<20),
			repeated(head("data")+"{", `"a":[[]],`, "\"b\":0}\r\n--b--\r\n", 1<<20),
			repeated(head("subject"), "x", "\r\n--b--\r\n", 2<<20),
			fixed([]byte(arrays + "--b--\r\n")),
			repeated("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n%PDF-1.7\n", "x", "\r\n--b--\r\n", 1<<20),
		}
	case strings.HasPrefix(kind, "application/x-www-form"):
		return []func() (io.Reader, int64){
			repeated("a=b", "&a=b", "", 8<<10), numbered("a=b", "&%d", "", 8<<10), repeated("client_secret=", "x", "", 8<<10), numbered("a=b", "&%d", "", 1<<20),
		}
	}
	return []func() (io.Reader, int64){repeated("%PDF-1.7\n", "x", "", 1<<20), repeated("a", ",a", "\r\n", 1<<20)}
}

// blank returns a black image, which compresses well, with 8 or 16 bits per sample.
func blank(t *testing.T, w, h int, wide bool) []byte {
	t.Helper()
	var img image.Image = image.NewGray(image.Rect(0, 0, w, h))
	if wide {
		n := image.NewNRGBA64(image.Rect(0, 0, w, h))
		n.Set(1, 1, color.Black)
		img = n
	}
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	require.NoError(t, enc.Encode(&b, img))
	return b.Bytes()
}
