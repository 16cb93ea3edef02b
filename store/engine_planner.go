package store

import (
	"context"
	"fmt"
)

// plannerLock is the key of the advisory lock for changes to the planner's settings, because PostgreSQL rejects
// concurrent changes.
const plannerLock = 7_518_020

// quickPlans disables JIT compilation and parallel workers. The planner chooses them if it expects many rows, as in a
// search of millions of envelopes, but their overhead exceeds the duration of any query of the service. The settings
// apply to the current user in the current database.
const quickPlans = `DO $$
BEGIN
    PERFORM pg_advisory_xact_lock(%d);
    EXECUTE format('ALTER ROLE %%I IN DATABASE %%I SET jit = off', current_user, current_database());
    EXECUTE format('ALTER ROLE %%I IN DATABASE %%I SET max_parallel_workers_per_gather = 0', current_user, current_database());
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'jit and max_parallel_workers_per_gather were not changed: %%', SQLERRM;
END $$`

// setPlanner configures the planner. A restored database lacks these settings, because they belong to the server and
// are not part of a dump.
func (s *engine) setPlanner(ctx context.Context) error {
	if !s.postgres {
		return nil
	}
	// SQL: the statement changes PostgreSQL settings.
	return wrap(s.db.WithContext(ctx).Exec(fmt.Sprintf(quickPlans, plannerLock)).Error, "set the planner's settings")
}

// SlowPlanner returns the PostgreSQL settings that make searches of millions of envelopes ten times slower.
func (s *engine) SlowPlanner(ctx context.Context) ([]string, error) {
	if !s.postgres {
		return nil, nil
	}
	var slow []string
	// SQL: the query reads PostgreSQL settings.
	err := s.db.WithContext(ctx).Raw(`SELECT name || ' = ' || setting FROM pg_settings
		WHERE (name = 'jit' AND setting <> 'off') OR (name = 'max_parallel_workers_per_gather' AND setting <> '0') ORDER BY name`).Scan(&slow).Error
	return slow, wrap(err, "read the server's settings")
}
