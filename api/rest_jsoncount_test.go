package api

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// TestCountJSON checks the counts of values, names and nesting levels, regardless of the content of strings.
func TestCountJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]jsonCount{
		``:                         {},
		`null`:                     {values: 1},
		` -1.5e3 `:                 {values: 1},
		`"a"`:                      {values: 1},
		`[]`:                       {values: 1, containers: 1, depth: 1},
		`[[],[]]`:                  {values: 3, containers: 3, depth: 2},
		`{"a":1}`:                  {values: 3, containers: 1, depth: 1},
		`{"a":{"b":[true,false]}}`: {values: 7, containers: 3, depth: 3},
		`["[{\"\\",1]`:             {values: 3, containers: 1, depth: 1},
		`[1,2 ,"x"]`:               {values: 4, containers: 1, depth: 1},
	} {
		want.bytes = int64(len(text))
		for name, read := range map[string]func(string) (jsonCount, error){
			"whole":    func(s string) (jsonCount, error) { return countJSON(strings.NewReader(s)) },
			"by bytes": func(s string) (jsonCount, error) { return countJSON(iotest.OneByteReader(strings.NewReader(s))) },
		} {
			got, err := read(text)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s, %s", text, name)
		}
	}
}

// TestCountJSON_Generated checks the results of countJSON for generated values against their actual counts and depth.
func TestCountJSON_Generated(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var value func(depth int) any
	value = func(depth int) any {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch r.IntN(kinds) {
		case 0:
			return nil
		case 1:
			return r.Float64() * 1e6
		case 2:
			return r.IntN(2) == 0
		case 3:
			return strings.Repeat(`"\[{,:é`, r.IntN(3))
		case 4:
			out := []any{}
			for range r.IntN(5) {
				out = append(out, value(depth-1))
			}
			return out
		}
		out := map[string]any{}
		for range r.IntN(5) {
			out[strings.Repeat(`{"`, r.IntN(9))] = value(depth - 1)
		}
		return out
	}
	var values func(v any) (n, depth int)
	values = func(v any) (n, depth int) {
		n = 1
		var items []any
		switch v := v.(type) {
		case []any:
			items, depth = v, 1
		case map[string]any:
			depth = 1
			n += len(v)
			for _, item := range v {
				items = append(items, item)
			}
		}
		for _, item := range items {
			in, below := values(item)
			n, depth = n+in, max(depth, below+1)
		}
		return n, depth
	}
	for range 300 {
		v := value(6)
		b, err := json.MarshalIndent(v, "", strings.Repeat(" ", r.IntN(2)))
		require.NoError(t, err)
		got, err := countJSON(strings.NewReader(string(b)))
		require.NoError(t, err)
		n, depth := values(v)
		require.Equal(t, n, got.values, "%s", b)
		require.Equal(t, depth, got.depth, "%s", b)
	}
}
