package pkcs11_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/pkcs11"
)

func TestParseURI(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]pkcs11.Config{
		"pkcs11:token=seal;object=2026?module-path=/lib/hsm.so": {Module: "/lib/hsm.so", Token: "seal", Key: "2026"},
		"pkcs11:token=The%20seal;id=%01%FF;type=private?pin-source=file:/run/pin&module-path=/lib/hsm.so": {
			Module: "/lib/hsm.so", Token: "The seal", ID: []byte{1, 0xff}, PINSource: "/run/pin",
		},
		"pkcs11:serial=12ab;object=a%3Bb%26c;id=%20?module-path=/l%3F.so&pin-source=file:///run/pin": {
			Module: "/l?.so", Serial: "12ab", Key: "a;b&c", ID: []byte(" "), PINSource: "/run/pin",
		},
		"pkcs11:token=a+b;object=k?module-path=/l.so&pin-source=/run/pin": {Module: "/l.so", Token: "a+b", Key: "k", PINSource: "/run/pin"},
	} {
		got, err := pkcs11.ParseURI(uri)
		require.NoError(t, err, uri)
		assert.Equal(t, want, got, uri)
	}
	for uri, want := range map[string]string{
		"/etc/seal.pem":                     "scheme",
		"pkcs11:":                           "module-path",
		"pkcs11:token=t;object=o":           "module-path",
		"pkcs11:object=o?module-path=/l.so": "token or serial",
		"pkcs11:token=t;serial=s;object=o?module-path=/l":                  "token or serial",
		"pkcs11:token=t?module-path=/l.so":                                 "object or id",
		"pkcs11:token=t;object=o;object=p?module-path=/l":                  "twice",
		"pkcs11:token=%zz;object=o?module-path=/l.so":                      "malformed",
		"pkcs11:token;object=o?module-path=/l.so":                          "malformed",
		"pkcs11:token=t;object=o;slot-id=3?module-path=/":                  `"slot-id"`,
		"pkcs11:token=t;object=o;type=cert?module-path=/":                  "private",
		"pkcs11:token=t;object=o?module-name=hsm":                          `"module-name"`,
		"pkcs11:token=t;object=o?module-path=/l.so&pin-value=hunter2":      "must not contain a PIN",
		"pkcs11:token=t;object=o?module-path=/l.so&pin-source=|hunter2":    "absolute path",
		"pkcs11:token=t;object=o?module-path=/l.so&pin-source=http://pins": "absolute path",
	} {
		_, err := pkcs11.ParseURI(uri)
		require.ErrorContains(t, err, want, uri)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}

func TestPINSource(t *testing.T) {
	t.Parallel()
	_, err := pkcs11.Open(pkcs11.Config{PINSource: t.TempDir() + "/none"})
	require.ErrorContains(t, err, "the PIN")
}
