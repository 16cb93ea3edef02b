package activities_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/locales"
	"countersign/models"
	"countersign/seal/lang"
)

// TestCertificate_UsesTenantSettings checks that the certificate uses the tenant's language and sender name.
func TestCertificate_UsesTenantSettings(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		german, sender := "de", "Acme Verwaltung"
		require.NoError(env.t, env.Store.SaveSettings(env.t.Context(), models.Settings{AppID: env.app.ID, Language: &german, SenderName: &sender}))
		e, in := env.sent("a@example.com")
		env.signAll(e)
		_, err := env.seal(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, german, env.sealer.last.Language)
		assert.Equal(env.t, sender, env.sealer.last.Envelope.Sender)
	})
}

// TestCertificate_TranslatesEveryEvent checks that the certificate has a translation for every audit event in every
// language, and never shows an event's technical name.
func TestCertificate_TranslatesEveryEvent(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "../models/envelope_event.go", nil, 0)
	require.NoError(t, err)
	names := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Event") || spec.Names[0].Name == "EventPing" || spec.Names[0].Name == "EventBulkCompleted" {
			return true
		}
		value, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		name, err := strconv.Unquote(value.Value)
		require.NoError(t, err)
		for _, tag := range locales.Tags() {
			say := lang.ForTag(tag)
			assert.NotEmpty(t, say.EventNames[name], "%s in %s", name, say.Tag)
		}
		names++
		return true
	})
	assert.Greater(t, names, 20)
}
