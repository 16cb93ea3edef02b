package webhook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"countersign/webhook"
)

// TestSign_RFC4231Vectors checks the HMAC-SHA-256 test cases in RFC 4231.
func TestSign_RFC4231Vectors(t *testing.T) {
	t.Parallel()
	repeat := func(b byte, n int) []byte { return []byte(strings.Repeat(string([]byte{b}), n)) }
	cases := []struct {
		name      string
		key, body []byte
		want      string
	}{
		{"4.2", repeat(0x0b, 20), []byte("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
		{"4.3", []byte("Jefe"), []byte("what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{"4.4", repeat(0xaa, 20), repeat(0xdd, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
		{"4.7", repeat(0xaa, 131), []byte("Test Using Larger Than Block-Size Key - Hash Key First"), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
		{"4.8", repeat(0xaa, 131), []byte("This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm."), "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
		{"empty body", []byte("key"), nil, "5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, "sha256="+c.want, webhook.Sign(c.key, c.body))
		})
	}
}

// TestStandardHeaders_DocumentedExample checks the example in the Standard Webhooks documentation, and additional
// cases.
func TestStandardHeaders_DocumentedExample(t *testing.T) {
	t.Parallel()
	const (
		id      = "msg_p5jXN8AQM9LWM0D4loKWxJek"
		body    = `{"test": 2432232314}`
		secret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		example = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	)
	at := time.Unix(1614265330, 999)
	h := webhook.StandardHeaders(id, at, []byte(body), []byte(secret))
	assert.Equal(t, id, h.Get("webhook-id"))
	assert.Equal(t, "1614265330", h.Get("webhook-timestamp"))
	assert.Equal(t, example, h.Get("webhook-signature"))

	two := webhook.StandardHeaders(id, at, []byte(body), []byte("plain secret"), []byte(secret)).Get("webhook-signature")
	first, second, ok := strings.Cut(two, " ")
	assert.True(t, ok)
	assert.Equal(t, example, second)
	assert.True(t, strings.HasPrefix(first, "v1,"))
	assert.NotEqual(t, first, second)
}
