package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/serialization"
	temporalsql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute/sadefs"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

// retention is the retention period of closed workflows in a new namespace.
const retention = 30 * 24 * time.Hour

// ensureNamespaces creates missing namespaces and registers missing search attributes. It must run before the server
// starts, because a running server caches both.
func ensureNamespaces(ctx context.Context, cfg *config.SQL, names []string, attributes searchAttributes) (err error) {
	db, err := temporalsql.NewSQLDB(sqlplugin.DbKindUnknown, cfg,
		resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	for _, name := range names {
		if err := ensureNamespace(ctx, db, name, attributes); err != nil {
			return fmt.Errorf("namespace %q: %w", name, err)
		}
	}
	return nil
}

func ensureNamespace(ctx context.Context, db sqlplugin.DB, name string, attributes searchAttributes) error {
	rows, err := db.SelectFromNamespace(ctx, sqlplugin.NamespaceFilter{Name: &name})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return insertNamespace(ctx, db, name, attributes)
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case len(rows) != 1:
		return fmt.Errorf("read: %d rows", len(rows))
	}
	return updateNamespace(ctx, db, &rows[0], attributes)
}

func insertNamespace(ctx context.Context, db sqlplugin.DB, name string, attributes searchAttributes) error {
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, name, false, nil)
	if err != nil {
		return err
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	if _, err := addAttributes(ns.Detail.GetConfig(), attributes); err != nil {
		return err
	}
	blob, err := serialization.NewSerializer().NamespaceDetailToBlob(ns.Detail)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	id, err := primitives.ParseUUID(ns.Detail.GetInfo().GetId())
	if err != nil {
		return err
	}
	if _, err := db.InsertIntoNamespace(ctx, &sqlplugin.NamespaceRow{
		ID: id, Name: name, Data: blob.GetData(), DataEncoding: blob.GetEncodingType().String(),
	}); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return nil
}

func updateNamespace(ctx context.Context, db sqlplugin.DB, row *sqlplugin.NamespaceRow, attributes searchAttributes) error {
	encoding, err := enums.EncodingTypeFromString(row.DataEncoding)
	if err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	serializer := serialization.NewSerializer()
	detail, err := serializer.NamespaceDetailFromBlob(&commonpb.DataBlob{EncodingType: encoding, Data: row.Data})
	if err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	changed, err := addAttributes(detail.GetConfig(), attributes)
	if err != nil || !changed {
		return err
	}
	blob, err := serializer.NamespaceDetailToBlob(detail)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	row.Data, row.DataEncoding = blob.GetData(), blob.GetEncodingType().String()
	if _, err := db.UpdateNamespace(ctx, row); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return nil
}

// addAttributes assigns a preallocated column of the matching type to each missing attribute, in a fixed order. It
// reports whether it changed the configuration.
func addAttributes(cfg *persistencespb.NamespaceConfig, attributes searchAttributes) (bool, error) {
	columns := sadefs.GetDBIndexSearchAttributes(nil).GetCustomSearchAttributes()
	aliases := maps.Clone(cfg.GetCustomSearchAttributeAliases()) // column name → attribute name
	if aliases == nil {
		aliases = map[string]string{}
	}
	known := make(searchAttributes, len(aliases))
	for column, name := range aliases {
		known[name] = columns[column]
	}

	changed := false
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		want := attributes[name]
		if have, ok := known[name]; ok {
			if have != want {
				return false, fmt.Errorf("search attribute %s is of type %s, not %s", name, have, want)
			}
			continue
		}
		column, ok := freeColumn(columns, aliases, want)
		if !ok {
			return false, fmt.Errorf("search attribute %s: all columns of type %s are in use", name, want)
		}
		aliases[column] = name
		changed = true
	}
	cfg.CustomSearchAttributeAliases = aliases
	return changed, nil
}

// freeColumn returns the first unused column of a type.
func freeColumn(columns searchAttributes, aliases map[string]string, want enums.IndexedValueType) (string, bool) {
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		if _, taken := aliases[column]; columns[column] == want && !taken {
			return column, true
		}
	}
	return "", false
}
