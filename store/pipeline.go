package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm/schema"

	"countersign/models"
)

// Whole loads an app's envelope with its audit chain: what the most frequent
// request asks for. On PostgreSQL the five queries go out together, which takes
// the time of one.
func (s *Store) Whole(ctx context.Context, app, id uuid.UUID) (*models.Envelope, []models.Event, error) {
	if !s.postgres {
		e, err := s.Envelope(ctx, app, id)
		if err != nil {
			return nil, nil, err
		}
		log, err := s.AuditEvents(ctx, id)
		return e, log, err
	}
	e, log, err := s.pipeline(ctx, app, id)
	if err != nil {
		return nil, nil, fmt.Errorf("load envelope %s: %w", id, err)
	}
	return e, log, nil
}

func (s *Store) pipeline(ctx context.Context, app, id uuid.UUID) (e *models.Envelope, log []models.Event, err error) {
	db, err := s.db.DB()
	if err != nil {
		return nil, nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = conn.Raw(func(driver any) error {
		c, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("connection is a %T", driver)
		}
		var b pgx.Batch
		b.Queue("SELECT * FROM envelopes WHERE id = $1 AND app_id = $2", id, app)
		b.Queue("SELECT * FROM signers WHERE envelope_id = $1 ORDER BY position", id)
		b.Queue("SELECT * FROM fields WHERE envelope_id = $1 ORDER BY position", id)
		b.Queue("SELECT * FROM documents WHERE envelope_id = $1 ORDER BY kind, document_order", id)
		b.Queue("SELECT * FROM audit_events WHERE envelope_id = $1 ORDER BY seq", id)
		results := c.Conn().SendBatch(ctx, &b)
		roots, err1 := take[models.Envelope](ctx, s, results)
		signers, err2 := take[models.Signer](ctx, s, results)
		fields, err3 := take[models.Field](ctx, s, results)
		documents, err4 := take[models.Document](ctx, s, results)
		events, err5 := take[models.Event](ctx, s, results)
		if err := errors.Join(err1, err2, err3, err4, err5, results.Close()); err != nil {
			return err
		}
		if len(roots) == 0 {
			return models.ErrNotFound
		}
		e = roots[0]
		e.Signers, e.Fields, e.Documents = signers, fields, documents
		log = make([]models.Event, 0, len(events))
		for _, ev := range events {
			log = append(log, *ev)
		}
		return nil
	})
	return e, log, err
}

// take reads the rows of the batch's next query into models, as GORM would.
func take[T any](ctx context.Context, s *Store, results pgx.BatchResults) ([]*T, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known, err := schema.Parse(new(T), &s.schemas, s.db.NamingStrategy)
	if err != nil {
		return nil, err
	}
	columns := rows.FieldDescriptions()
	fields := make([]*schema.Field, len(columns))
	for i, c := range columns {
		if fields[i] = known.LookUpField(c.Name); fields[i] == nil {
			return nil, fmt.Errorf("column %s.%s has no field", known.Table, c.Name)
		}
	}
	var out []*T
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, err
		}
		v := new(T)
		at := reflect.ValueOf(v).Elem()
		for i, value := range values {
			switch x := value.(type) {
			case nil:
				continue
			case [16]byte:
				value = x[:]
			case time.Time:
				value = x.UTC()
			}
			if err := set(ctx, fields[i], at, value); err != nil {
				return nil, fmt.Errorf("column %s.%s: %w", known.Table, columns[i].Name, err)
			}
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// set gives a field its value; one that is kept as JSON is read from it.
func set(ctx context.Context, f *schema.Field, at reflect.Value, value any) error {
	if f.Serializer == nil {
		return f.Set(ctx, at, value)
	}
	holder := f.NewValuePool.Get()
	defer f.NewValuePool.Put(holder)
	scanner, ok := holder.(sql.Scanner)
	if !ok {
		return fmt.Errorf("no way to read a %T", holder)
	}
	if err := scanner.Scan(value); err != nil {
		return err
	}
	return f.Set(ctx, at, holder)
}
