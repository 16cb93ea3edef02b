package store

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// uuidCodec encodes and decodes a uuid.UUID as the 16 bytes of PostgreSQL's binary format. Without it, pgx would
// convert each UUID to a string, because the type implements driver.Valuer and sql.Scanner.
type uuidCodec struct{ pgtype.UUIDCodec }

// PlanEncode implements pgtype.Codec.
func (c uuidCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case uuid.UUID, *uuid.UUID:
			return uuidPlan{}
		}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

// PlanScan implements pgtype.Codec.
func (c uuidCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return uuidPlan{}
	}
	return c.UUIDCodec.PlanScan(m, oid, format, target)
}

// uuidPlan encodes and decodes only uuid.UUID.
type uuidPlan struct{}

// Encode implements pgtype.EncodePlan.
func (uuidPlan) Encode(value any, buf []byte) ([]byte, error) {
	switch v := value.(type) {
	case uuid.UUID:
		return append(buf, v[:]...), nil
	case *uuid.UUID:
		if v == nil {
			return nil, nil // NULL
		}
		return append(buf, v[:]...), nil
	}
	return nil, fmt.Errorf("%T is not a UUID", value)
}

// Scan implements pgtype.ScanPlan. Like uuid.UUID's own Scan, it leaves the target unchanged if the column is NULL.
func (uuidPlan) Scan(src []byte, target any) error {
	id, ok := target.(*uuid.UUID)
	switch {
	case !ok:
		return fmt.Errorf("%T is not a UUID", target)
	case src == nil:
		return nil
	case len(src) != len(id):
		return fmt.Errorf("UUID must have 16 bytes; got %d", len(src))
	}
	copy(id[:], src)
	return nil
}
