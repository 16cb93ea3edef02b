package e2e_test

import (
	"bytes"
	"database/sql"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkAddresses checks that no row of any table contains a signer's email address or phone number in plain text.
func checkAddresses(t *testing.T, s *service) {
	t.Helper()
	ctx := t.Context()
	db, err := sql.Open("pgx", s.setting("COUNTERSIGN_DATABASE_URL"))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var tables []string
	read := func(query string, row func([]sql.RawBytes)) {
		t.Helper()
		rows, err := db.QueryContext(ctx, query)
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		columns, err := rows.Columns()
		require.NoError(t, err)
		values, at := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
		for i := range values {
			at[i] = &values[i]
		}
		for rows.Next() {
			require.NoError(t, rows.Scan(at...))
			row(values)
		}
		require.NoError(t, rows.Err())
	}
	read("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()", func(v []sql.RawBytes) { tables = append(tables, string(v[0])) })
	names := 0
	for _, table := range tables {
		read("SELECT * FROM "+table, func(values []sql.RawBytes) {
			row := strings.ToLower(string(bytes.Join(asBytes(values), []byte("\n"))))
			for _, secret := range []string{"ada@example.com", "lukasz@example.com", "cleo@example.com", "+4915123456789"} {
				assert.NotContains(t, row, secret, "a row of %s", table)
			}
			names += strings.Count(row, "ada lovelace")
		})
	}
	assert.Positive(t, names, "the rows must be read")
}

func asBytes(values []sql.RawBytes) [][]byte {
	out := make([][]byte, 0, len(values))
	for _, v := range values {
		out = append(out, v)
	}
	return out
}
