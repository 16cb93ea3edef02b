package webhook_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/webhook"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	good := []string{
		"https://hooks.example.com/a?b=c", "https://hooks.example.com:8443/", "https://hooks.example.com.",
		"https://HOOKS.example.com", "https://bücher.example/x", "https://my_host.example.com/",
		"https://8.8.8.8/", "https://[2606:4700::1111]/", "https://1e100.net", "https://0x.example", "https://a.b",
	}
	for _, u := range good {
		require.NoError(t, webhook.CheckURL(u, false), u)
	}
	bad := map[string]string{
		"":                                                      "not an absolute",
		"hooks.example.com":                                     "not an absolute",
		"//hooks.example.com/":                                  "not an absolute",
		"https:hooks.example.com":                               "not an absolute",
		"ftp://hooks.example.com/":                              "not an absolute",
		"javascript:alert(1)":                                   "not an absolute",
		"http://hooks.example.com/":                             "https is required",
		"https://user:pw@hooks.example.com":                     "user or password",
		"https://user@hooks.example.com":                        "user or password",
		"https://@hooks.example.com":                            "user or password",
		"https://hooks.example.com/#x":                          "fragment",
		"https://hooks.example.com/#":                           "fragment",
		"https://hooks.example.com:0/":                          "port",
		"https://hooks.example.com:65536/":                      "port",
		"https://hooks.example.com:/":                           "port",
		"https://":                                              "host",
		"https:///path":                                         "host",
		"https://ex ample.com/":                                 "not a URL",
		"https://ex\tample.com/":                                "not a URL",
		"https://ex\r\nample.com/":                              "not a URL",
		"https://example.com\\@127.0.0.1/":                      "not a URL",
		"https://ex%61mple.com%2f/":                             "no",
		"https://a..b/":                                         "not a valid name",
		"https://intranet/":                                     "not a public name",
		"https://localhost/":                                    "not a public name",
		"https://x.localhost./":                                 "not a public name",
		"https://LOCALHOST/":                                    "not a public name",
		"https://127.0.0.1/":                                    "address not allowed",
		"https://127.0.0.1./":                                   "address not allowed",
		"https://10.1.2.3/":                                     "address not allowed",
		"https://172.16.0.1/":                                   "address not allowed",
		"https://192.168.1.1/":                                  "address not allowed",
		"https://169.254.169.254/":                              "address not allowed",
		"https://100.64.0.1/":                                   "address not allowed",
		"https://100.100.100.200/":                              "address not allowed",
		"https://168.63.129.16/":                                "address not allowed",
		"https://0.0.0.0/":                                      "address not allowed",
		"https://255.255.255.255/":                              "address not allowed",
		"https://224.0.0.1/":                                    "address not allowed",
		"https://192.0.0.192/":                                  "address not allowed",
		"https://[::1]/":                                        "address not allowed",
		"https://[::]/":                                         "address not allowed",
		"https://[::127.0.0.1]/":                                "address not allowed",
		"https://[::ffff:127.0.0.1]/":                           "address not allowed",
		"https://[::ffff:8.8.8.8]/":                             "address not allowed",
		"https://[64:ff9b::7f00:1]/":                            "address not allowed",
		"https://[64:ff9b:1::1]/":                               "address not allowed",
		"https://[fe80::1]/":                                    "address not allowed",
		"https://[fc00::1]/":                                    "address not allowed",
		"https://[fd00:ec2::254]/":                              "address not allowed",
		"https://[ff02::1]/":                                    "address not allowed",
		"https://[2002:7f00:1::]/":                              "address not allowed",
		"https://[2001:db8::1]/":                                "address not allowed",
		"https://[fe80::1%25eth0]/":                             "not an IPv6 address",
		"https://0177.0.0.1/":                                   "four decimal numbers",
		"https://2130706433/":                                   "four decimal numbers",
		"https://0x7f000001/":                                   "four decimal numbers",
		"https://0x7f.0.0.0x1/":                                 "four decimal numbers",
		"https://127.1/":                                        "four decimal numbers",
		"https://127.0.0.01/":                                   "four decimal numbers",
		"https://1.2.3.4.5/":                                    "four decimal numbers",
		"https://１２７.0.0.1/":                                    "address not allowed",
		"https://127。0。0。1/":                                    "address not allowed",
		"https://⑫7.0.0.1/":                                     "address not allowed",
		"https://example.com/" + strings.Repeat("x", 2048):      "longer than",
		"https://" + strings.Repeat("x", 64) + ".example.com/":  "no",
		"https://" + strings.Repeat("abcdefgh.", 30) + "com/":   "host",
		"https://secret-in-path@hooks.example.com/secret-token": "user or password",
	}
	for u, want := range bad {
		err := webhook.CheckURL(u, false)
		require.ErrorContains(t, err, want, u)
		assert.NotContains(t, err.Error(), "secret", "the error must not contain the URL")
	}
}

func TestCheckURL_InDevelopment(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		"http://localhost:9000/hook", "http://127.0.0.1:9000/", "http://[::1]/", "https://10.0.0.1/",
		"http://receiver/", "http://host.docker.internal:3000/",
	} {
		require.NoError(t, webhook.CheckURL(u, true), u)
	}
	for _, u := range []string{
		"http://2130706433/", "http://0177.0.0.1/", "http://user:pw@localhost/", "http://localhost/#x", "ftp://localhost/", "file:///etc/passwd",
	} {
		require.Error(t, webhook.CheckURL(u, true), u)
	}
}

func FuzzCheckURL(f *testing.F) {
	f.Add("https://hooks.example.com/")
	f.Add("https://[::ffff:127.0.0.1]:1/")
	f.Fuzz(func(_ *testing.T, raw string) {
		_ = webhook.CheckURL(raw, false)
		_ = webhook.CheckURL(raw, true)
	})
}
