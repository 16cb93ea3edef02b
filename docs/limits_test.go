package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAlert_OutlastsTheRetryDelay checks that the alert CountersignMailFails lasts longer than the
// longest delay between two attempts to send a rejected email. Otherwise, the alert would end between attempts
// although the problem persists.
func TestAlert_OutlastsTheRetryDelay(t *testing.T) {
	t.Parallel()
	minutes := func(file, pattern string) int {
		b, err := os.ReadFile("../" + file)
		require.NoError(t, err)
		m := regexp.MustCompile(pattern).FindSubmatch(b)
		require.NotNil(t, m, "%s: %s", file, pattern)
		n, err := strconv.Atoi(string(m[1]))
		require.NoError(t, err)
		return n
	}
	assert.Greater(t, minutes("deploy/prometheus/alerts.yaml", `alert: CountersignMailFails\n(?: .*\n)*? +keep_firing_for: (\d+)m`),
		minutes("activities/mail.go", `const longestWait = (\d+) \* time\.Minute`))
}

// TestImage_IsHealthyWithoutTemporal checks that the health checks of the images run the program's own check, which
// ignores Temporal for an API. Signing continues while Temporal is down, so orchestrators must not remove the APIs.
func TestImage_IsHealthyWithoutTemporal(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../Dockerfile", "../deploy/docker/release.Dockerfile"} {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		checks := regexp.MustCompile(`(?m)^HEALTHCHECK .*$`).FindAllString(string(b), -1)
		require.NotEmpty(t, checks, file)
		for _, check := range checks {
			assert.Regexp(t, `CMD \["/usr/local/bin/countersign", "healthcheck"\]$`, check, file)
		}
	}
	b, err := os.ReadFile("../cmd/countersign/serve_healthcheck.go")
	require.NoError(t, err)
	assert.Contains(t, string(b), `cfg.Listen, "/readyz?for=requests"`)
}

// TestProxies_AllowBodiesOfVerify checks that the documents state the maximum body size of POST /v1/verify, and
// that the shipped proxy configurations permit it.
func TestProxies_AllowBodiesOfVerify(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		b, err := os.ReadFile("../" + file)
		require.NoError(t, err)
		return string(b)
	}
	number := func(file, pattern string) int {
		m := regexp.MustCompile(pattern).FindStringSubmatch(read(file))
		require.NotNil(t, m, "%s: %s", file, pattern)
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		return n
	}
	beside := number("api/rest_body.go", `maxSealOverhead = (\d+) << 20`)
	form := number("api/rest_body.go", `multipartOverhead += (\d+) << 20`)
	upload := number("config/config.go", `UploadLimit: (\d+) << 20`)
	assert.Contains(t, read("docs/run/settings.md"), fmt.Sprintf("`POST /v1/verify` accepts %d MiB more", beside))
	assert.Contains(t, read("docs/run/production.md"), fmt.Sprintf("`UPLOAD_LIMIT` plus %d MiB for `POST /v1/verify`, and plus %d MiB for other requests", beside+form, form))
	assert.Contains(t, read("docs/learn/verify.md"), fmt.Sprintf("`UPLOAD_LIMIT` plus %d MiB", beside))
	most := (upload + beside + form) << 20
	assert.GreaterOrEqual(t, number("deploy/Caddyfile", `max_size (\d+)MB`)*1_000_000, most)
	assert.GreaterOrEqual(t, number("deploy/kubernetes/countersign.yaml", `proxy-body-size: (\d+)m`)<<20, most)
}
