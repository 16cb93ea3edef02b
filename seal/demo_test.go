package seal_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDemo(t *testing.T) {
	in := os.Getenv("DEMO_IN")
	if in == "" {
		t.Skip()
	}
	b, err := os.ReadFile(in)
	require.NoError(t, err)
	k := newKeys(t)
	_, out := sealed(t, k.sealer(t), job(t, b))
	require.NoError(t, os.WriteFile(os.Getenv("DEMO_OUT"), out, 0o600))
	ca, _ := os.ReadFile(k.caFile)
	require.NoError(t, os.WriteFile(os.Getenv("DEMO_OUT")+".ca.pem", ca, 0o600))
}
