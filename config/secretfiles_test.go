package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/config"
)

// validSecrets contains a valid value for each secret, followed by the other settings that the secret requires.
var validSecrets = map[string][]string{
	"DATABASE_URL":               {"postgres://u:hunter2@h/d"},
	"DATABASE_READ_URL":          {"postgres://u:hunter2@r/d", "COUNTERSIGN_DATABASE_URL=postgres://h/d"},
	"TEMPORAL_API_KEY":           {"hunter2"},
	"SMTP_URL":                   {"smtps://u:hunter2@mail.example.com"},
	"SMTP_OAUTH_CLIENT_SECRET":   {"hunter2", "COUNTERSIGN_SMTP_OAUTH_TOKEN_URL=https://login.example.com/t", "COUNTERSIGN_SMTP_OAUTH_CLIENT_ID=app", "COUNTERSIGN_SMTP_URL=smtp://sign%40example.com@smtp.example.com"},
	"SMTP_OAUTH_SERVICE_ACCOUNT": nil, // tested by TestOAuthServiceAccount_SignsForTheMailbox in package notify, whose tests contain a key
	"SMS_URL":                    {"https://SID:hunter2@sms.example.com"},
	"OIDC_CLIENT_SECRET":         {"hunter2", "COUNTERSIGN_OIDC_ISSUER=https://login.example.com", "COUNTERSIGN_OIDC_CLIENT_ID=app", "COUNTERSIGN_OIDC_ROLE_CLAIM=role", "COUNTERSIGN_BASE_URL=https://sign.example.com"},
	"MASTER_KEY":                 {"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="},
	"SEAL_PASSWORD":              {"hunter2"},
	"FIRST_PASSWORD":             {"hunter2"},
}

// TestEverySecret_MayBeInAFile checks that each secret can be read from a file, and that a trailing newline is removed.
func TestEverySecret_MayBeInAFile(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[config.Config]().Fields() {
		if f.Type != reflect.TypeFor[config.Secret]() {
			continue
		}
		name := f.Tag.Get("env")
		with, known := validSecrets[name]
		require.True(t, known, "a value for %s", name)
		if with == nil {
			continue
		}
		for _, end := range []string{"", "\n", "\r\n"} {
			file := filepath.Join(t.TempDir(), "secret")
			require.NoError(t, os.WriteFile(file, []byte(with[0]+end), 0o600))
			c, err := load(append([]string{config.Prefix + name + "_FILE=" + file}, with[1:]...)...)
			require.NoError(t, err, name)
			assert.Equal(t, with[0], reflect.ValueOf(c).FieldByIndex(f.Index).String(), name)
		}
	}
}

// TestSecretFile_Faults checks that each error is a single sentence that contains the variable and the file.
func TestSecretFile_Faults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		return file
	}
	const variable = "COUNTERSIGN_SEAL_PASSWORD_FILE"
	for file, want := range map[string]string{
		filepath.Join(dir, "nowhere"):                  "does not exist",
		write("empty", ""):                             "is empty",
		write("blank", " \n\n"):                        "is empty",
		write("large", strings.Repeat("hunter2", 1e5)): "is larger than 64 KiB",
		dir: "must be a regular file",
	} {
		_, err := load(variable + "=" + file)
		require.ErrorContains(t, err, variable+": the file "+file+" ")
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "hunter2")
	}
	_, err := load(variable+"="+write("good", "hunter2"), "COUNTERSIGN_SEAL_PASSWORD=other")
	require.ErrorContains(t, err, variable+": COUNTERSIGN_SEAL_PASSWORD is also set")
	_, err = load("COUNTERSIGN_BASE_URL_FILE=" + dir)
	require.ErrorContains(t, err, "COUNTERSIGN_BASE_URL_FILE: unknown setting", "an address is not a secret")
	c, err := load(variable + "=")
	require.NoError(t, err, "an empty variable counts as not set, as for all settings")
	assert.Empty(t, string(c.SealPassword))
}

// TestSMTPOAuth_RequiresAllSettings checks that each error contains the name of the setting.
func TestSMTPOAuth_RequiresAllSettings(t *testing.T) {
	t.Parallel()
	const (
		smtp   = "COUNTERSIGN_SMTP_URL=smtp://sign%40example.com@smtp.office365.com:587"
		token  = "COUNTERSIGN_SMTP_OAUTH_TOKEN_URL=https://login.microsoftonline.com/tenant/oauth2/v2.0/token"
		client = "COUNTERSIGN_SMTP_OAUTH_CLIENT_ID=app"
		secret = "COUNTERSIGN_SMTP_OAUTH_CLIENT_SECRET=hunter2"
	)
	c, err := load(smtp, token, client, secret)
	require.NoError(t, err)
	assert.Equal(t, "hunter2", c.SMTP().OAuth.ClientSecret)
	for _, fault := range []struct {
		vars []string
		want string
	}{
		{[]string{smtp, token, client}, "COUNTERSIGN_SMTP_OAUTH_CLIENT_SECRET: must be set"},
		{[]string{smtp, client, secret}, "COUNTERSIGN_SMTP_OAUTH_TOKEN_URL: must be set"},
		{[]string{token, client, secret}, "COUNTERSIGN_SMTP_URL: "},
		{[]string{"COUNTERSIGN_SMTP_URL=smtp://a:hunter2@smtp.office365.com", token, client, secret}, "COUNTERSIGN_SMTP_URL: SMTP URL: when OAuth is used, the URL must not contain a password"},
		{[]string{smtp, "COUNTERSIGN_SMTP_OAUTH_TOKEN_URL=http://login.example.com", client, secret}, "COUNTERSIGN_SMTP_OAUTH_TOKEN_URL: "},
		{[]string{smtp, "COUNTERSIGN_SMTP_OAUTH_SERVICE_ACCOUNT=hunter2"}, "COUNTERSIGN_SMTP_OAUTH_SERVICE_ACCOUNT: "},
	} {
		_, err := load(fault.vars...)
		require.ErrorContains(t, err, fault.want)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}
