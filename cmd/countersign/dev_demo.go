package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"countersign/cli/devdir"
	"countersign/models"
	"countersign/store"
)

// demoApp creates the demo app, or returns the one created by a previous run.
func demoApp(ctx context.Context, s *store.Store, before devdir.Info) (_ *models.App, secret string, err error) {
	if before.ClientID != "" {
		if app, err := s.Authenticate(ctx, before.ClientID, before.ClientSecret); err == nil {
			return app, before.ClientSecret, nil
		}
	}
	return s.CreateApp(ctx, "Demo", models.PlanEnterprise, nil)
}

// demoUser creates an administrator of the demo app's console, or returns the one created by a previous run.
func demoUser(ctx context.Context, s *store.Store, app uuid.UUID, before devdir.Info) (devdir.ConsoleLogin, error) {
	if before.ConsolePassword != "" {
		if u, err := s.Login(ctx, before.ConsoleEmail, before.ConsolePassword); err == nil && u.AppID == app {
			return before.ConsoleLogin, nil
		}
	}
	login := devdir.ConsoleLogin{ConsoleEmail: "admin@demo.example", ConsolePassword: strings.ToLower(rand.Text()[:16])}
	_, err := s.CreateUser(ctx, app, login.ConsoleEmail, "Demo Admin", login.ConsolePassword, models.RoleAdmin)
	if rejected, ok := errors.AsType[*models.Error](err); ok && rejected.Code == "user_exists" { // the user has another password or belongs to another app
		login.ConsoleEmail = "admin-" + strings.ToLower(rand.Text()[:8]) + "@demo.example"
		_, err = s.CreateUser(ctx, app, login.ConsoleEmail, "Demo Admin", login.ConsolePassword, models.RoleAdmin)
	}
	return login, err
}

// listenOnSamePort listens on the given address. If the address does not specify a port, it uses the port of the
// previous run, provided that the port is free.
func listenOnSamePort(ctx context.Context, address, before string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if old, oldPort, err2 := net.SplitHostPort(before); err == nil && err2 == nil && port == "0" && old == host {
		if l, err := listen(ctx, net.JoinHostPort(host, oldPort)); err == nil {
			return l, nil
		}
	}
	return listen(ctx, address)
}

// samePort returns the port in the address of a previous run, or "0" if that port is in use.
func samePort(ctx context.Context, before string) string {
	if u, err := url.Parse(before); err == nil && u.Scheme == "http" {
		before = u.Host
	}
	host, port, err := net.SplitHostPort(before)
	if err != nil {
		return "0"
	}
	l, err := listen(ctx, net.JoinHostPort(host, port))
	if err != nil || l.Close() != nil {
		return "0"
	}
	return port
}
