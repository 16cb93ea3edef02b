package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/store"
)

// TestUUIDs_AreBytes checks that UUIDs, including nullable ones, are sent as 16 bytes in the binary format. Some modes
// of the driver use the text format, in which UUIDs are sent unchanged.
func TestUUIDs_AreBytes(t *testing.T) {
	t.Parallel()
	m := pgtype.NewMap()
	m.RegisterType(&pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: store.UUIDCodec{}})
	id := uuid.MustParse("0192f0c1-2d3e-7a4b-8c5d-6e7f80910a1b")

	for _, v := range []any{id, &id} {
		b, err := m.Encode(pgtype.UUIDOID, pgtype.BinaryFormatCode, v, nil)
		require.NoError(t, err)
		assert.Equal(t, id[:], b)
		b, err = m.Encode(pgtype.UUIDOID, pgtype.TextFormatCode, v, nil)
		require.NoError(t, err)
		assert.Equal(t, id.String(), string(b))
	}
	b, err := m.Encode(pgtype.UUIDOID, pgtype.BinaryFormatCode, (*uuid.UUID)(nil), nil)
	require.NoError(t, err)
	assert.Nil(t, b, "NULL")
	absent := (*uuid.UUID)(nil)
	b, err = store.UUIDCodec{}.PlanEncode(m, pgtype.UUIDOID, pgtype.BinaryFormatCode, absent).Encode(absent, nil)
	require.NoError(t, err)
	assert.Nil(t, b, "NULL must also be accepted in an array")

	for format, src := range map[int16][]byte{pgtype.BinaryFormatCode: id[:], pgtype.TextFormatCode: []byte(id.String())} {
		var plain uuid.UUID
		var optional *uuid.UUID
		require.NoError(t, m.Scan(pgtype.UUIDOID, format, src, &plain))
		require.NoError(t, m.Scan(pgtype.UUIDOID, format, src, &optional))
		assert.Equal(t, id, plain)
		assert.Equal(t, &id, optional)
		require.NoError(t, m.Scan(pgtype.UUIDOID, format, nil, &optional))
		assert.Nil(t, optional)
	}
	var short uuid.UUID
	require.Error(t, m.Scan(pgtype.UUIDOID, pgtype.BinaryFormatCode, id[:15], &short))
	assert.Equal(t, uuid.Nil, short)
}
