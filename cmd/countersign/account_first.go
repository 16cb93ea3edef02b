package main

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"countersign/config"
	"countersign/models"
	"countersign/store"
)

// createFirst creates the app and the administrator specified in the settings, unless the database already contains
// console users.
func createFirst(ctx context.Context, cfg config.Config, s *store.Store) (created bool, err error) {
	if cfg.FirstUser == "" {
		return false, nil
	}
	if has, err := s.HasUsers(ctx); err != nil || has {
		return false, err
	}
	if err := cfg.Require("FIRST_APP", "FIRST_PASSWORD"); err != nil {
		return false, err
	}
	if err := checkMasterKey(ctx, s); err != nil {
		return false, err
	}
	app, err := s.SignInApp(ctx, uuid.Nil) // the app created by a previous attempt that was interrupted
	if errors.Is(err, models.ErrNotFound) {
		app, _, err = s.CreateApp(ctx, cfg.FirstApp, models.PlanEnterprise, nil)
	}
	if err != nil {
		return false, err
	}
	_, err = s.CreateUser(ctx, app.ID, cfg.FirstUser, "Administrator", string(cfg.FirstPassword), models.RoleAdmin)
	return err == nil, err
}
