package password_test

import (
	"crypto/sha1"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/password"
)

func TestCommon(t *testing.T) {
	t.Parallel()
	for _, p := range []string{
		"qwertyuiop", "QwertyUiop", "1234567890", "0123456789", "zyxwvutsrq", "password123", "Password2026!", "!!football!!", "12345letmein", "passwordpassword",
		"abcabcabcabc", "aaaaaaaaaaaa", "123412341234", "  1q2w3e4r5t ", "basketball", "manchester1878",
	} {
		assert.True(t, password.Common(p), p)
	}
	for _, p := range []string{"correct horse", "a long password", "kd83-Xq0tz-22m", "страница девять", "wrong battery staple", "parolen-og-alt"} {
		assert.False(t, password.Common(p), p)
	}
}

// TestCommonList checks that the list contains more than the 3,000 passwords that ASVS 6.2.4 requires. It counts
// passwords of ten or more characters, including passwords that reach this length with appended digits.
func TestCommonList(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("common.txt")
	require.NoError(t, err)
	list := strings.Fields(string(b))
	require.True(t, slices.IsSorted(list))
	long := 0
	letters := regexp.MustCompile(`^[a-z]+$`)
	for _, p := range list {
		if letters.MatchString(p) {
			p += "1234"[:max(0, 10-len(p))]
		}
		if len([]rune(p)) >= 10 {
			long++
			require.True(t, password.Common(p), p)
		}
	}
	require.Greater(t, long, 20_000)
}

func TestWithoutWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Countersign2026": "2026", "Ada.Lovelace!!": "ada.!!", "lovelace@example.org": "@.org", "ADA LOVELACE 1815": " 1815", "something else": "something else",
	} {
		assert.Equal(t, want, password.WithoutWords(in, "Ada Lovelace", "lovelace@example.com"), in)
	}
}

func TestLeaked(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("%X:%d", sha1.Sum(fmt.Appendf(nil, "leaked %d", i)), i*i*i))
	}
	slices.Sort(lines)
	for name, text := range map[string]string{
		"unix": strings.Join(lines, "\n") + "\n", "windows": strings.Join(lines, "\r\n") + "\r\n", "no end": strings.Join(lines, "\n"), "empty": "", "one": lines[0],
	} {
		path := filepath.Join(t.TempDir(), "leaked.txt")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		found := 0
		for i := range 700 {
			ok, err := password.Leaked(path, fmt.Sprintf("leaked %d", i))
			require.NoError(t, err)
			if ok {
				require.Less(t, i, 500)
				found++
			}
		}
		require.Equal(t, map[string]int{"empty": 0, "one": 1}[name]+map[bool]int{len(text) > 100: 500}[true], found, name)
	}
	_, err := password.Leaked(filepath.Join(t.TempDir(), "nothing"), "x")
	require.ErrorContains(t, err, "leaked passwords")
	path := filepath.Join(t.TempDir(), "binary")
	require.NoError(t, os.WriteFile(path, make([]byte, 10_000), 0o600))
	_, err = password.Leaked(path, "x")
	require.ErrorContains(t, err, "too long")
}
