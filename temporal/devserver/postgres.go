package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	temporalsql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema"
	v12 "go.temporal.io/server/schema/postgresql/v12"
)

const (
	postgresConns    = 20
	postgresShards   = 4 // history shards; fixed for the lifetime of a database
	visibilitySuffix = "_visibility"
)

// openPostgres opens two databases on a PostgreSQL server: the database named in address, and one for visibility whose
// name has the suffix "_visibility". Both databases must exist. Temporal's schema is created in empty databases. The
// address has the form postgres://user:password@host:port/name.
func openPostgres(ctx context.Context, address string) (*database, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("--postgres: not a valid URL") // without the parse error, which would repeat the password
	}
	password, _ := u.User.Password()
	store := func(name string) *config.SQL {
		return &config.SQL{
			PluginName: postgresql.PluginNamePGX, User: u.User.Username(), Password: password,
			ConnectAddr: u.Host, ConnectProtocol: "tcp", DatabaseName: name,
			MaxConns: postgresConns, MaxIdleConns: postgresConns,
		}
	}
	name := strings.TrimPrefix(u.Path, "/")
	d := &database{config: store(name), visibility: store(name + visibilitySuffix), shards: postgresShards}
	main := setUpSchema(ctx, d.config, sqlplugin.DbKindMain, "temporal", v12.Version)
	seen := setUpSchema(ctx, d.visibility, sqlplugin.DbKindVisibility, "visibility", v12.VisibilityVersion)
	return d, errors.Join(main, seen)
}

// setUpSchema creates the tables of one kind of database if they are missing, and records their version.
func setUpSchema(_ context.Context, cfg *config.SQL, kind sqlplugin.DbKind, dir, version string) (err error) {
	db, err := temporalsql.NewSQLAdminDB(kind, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return fmt.Errorf("PostgreSQL database %s: %w", cfg.DatabaseName, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tables, err := db.ListTables(cfg.DatabaseName)
	if err != nil || len(tables) > 0 {
		return err
	}
	text, err := fs.ReadFile(schema.Assets(), "postgresql/v12/"+dir+"/schema.sql")
	if err != nil {
		return err
	}
	statements, err := persistence.LoadAndSplitQueryFromReaders([]io.Reader{bytes.NewReader(text)})
	if err != nil {
		return err
	}
	for _, s := range statements {
		if err := db.Exec(s); err != nil {
			return fmt.Errorf("set up PostgreSQL database %s: %w", cfg.DatabaseName, err)
		}
	}
	if err := db.CreateSchemaVersionTables(); err != nil {
		return err
	}
	return db.UpdateSchemaVersion(cfg.DatabaseName, version, version)
}
