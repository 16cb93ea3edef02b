package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"

	"countersign/cli/terminal"
	"countersign/models"
	"countersign/store"
)

type userCommand struct {
	Create      userCreate      `cmd:"" help:"Create a console user. The password is read from standard input."`
	SetPassword userSetPassword `cmd:"" help:"Set a new password for a console user. The password is read from standard input. The second factor is kept."`
	ResetTOTP   userResetTOTP   `cmd:"" name:"reset-totp" help:"Remove the second factors and passkeys of a console user who has lost them. Verify the person's identity first."`
	SignOut     userSignOut     `cmd:"" help:"End the sessions of a console user, or of all users."`
}

type userCreate struct {
	database

	App   uuid.UUID `help:"Client id of the app." required:""`
	Email string    `help:"Email address to sign in with." required:""`
	Name  string    `help:"Name." required:""`
	Role  string    `help:"viewer, support, sender or admin." enum:"viewer,support,sender,admin" default:"viewer"`
}

// Run creates the user.
func (u userCreate) Run(ctx context.Context) error {
	password, err := readPassword()
	if err != nil {
		return err
	}
	return u.withApp(ctx, u.App, func(s *store.Store, app *models.App) error {
		user, err := s.CreateUser(ctx, app.ID, u.Email, u.Name, password, models.Role(u.Role))
		if err != nil {
			return err
		}
		return terminal.Printf("console user %s, role %s", user.ID, user.Role)
	})
}

// readPassword reads a password from the first line of standard input.
func readPassword() (string, error) {
	password, err := bufio.NewReader(os.Stdin).ReadString('\n')
	password = strings.TrimRight(password, "\r\n")
	if password == "" {
		return "", errors.Join(errors.New("the password must be passed on standard input"), err)
	}
	return password, nil
}

// userOf identifies a console user by app and email address.
type userOf struct {
	database

	App   uuid.UUID `help:"Client id of the app." required:""`
	Email string    `help:"Email address of the user." required:""`
}

// change runs fn for the identified user.
func (u userOf) change(ctx context.Context, fn func(*store.Store, *models.ConsoleUser) error) error {
	return u.withApp(ctx, u.App, func(s *store.Store, app *models.App) error {
		users, err := s.Users(ctx, app.ID)
		if err != nil {
			return err
		}
		for i := range users {
			if models.EmailKey(users[i].Email) == models.EmailKey(u.Email) {
				return fn(s, &users[i])
			}
		}
		return fmt.Errorf("app %s has no console user with that address", u.App)
	})
}

type userSetPassword struct{ userOf }

// Run sets the user's password and ends the user's sessions.
func (u userSetPassword) Run(ctx context.Context) error {
	password, err := readPassword()
	if err != nil {
		return err
	}
	return u.change(ctx, func(s *store.Store, user *models.ConsoleUser) error {
		return s.SetPassword(ctx, user, password, uuid.Nil)
	})
}

type userResetTOTP struct{ userOf }

// Run removes the user's second factors and ends the user's sessions.
func (u userResetTOTP) Run(ctx context.Context) error {
	return u.change(ctx, func(s *store.Store, user *models.ConsoleUser) error {
		return s.ResetFactors(ctx, user.ID, uuid.Nil)
	})
}

type userSignOut struct {
	database

	App   uuid.UUID `help:"Client id of the app."`
	Email string    `help:"Email address of the user. Default: all users of all apps."`
}

// Run ends the user's sessions.
func (u userSignOut) Run(ctx context.Context) error {
	if u.Email == "" {
		return u.with(ctx, func(s *store.Store) error { return s.EndAllConsoleSessions(ctx) })
	}
	return userOf(u).change(ctx, func(s *store.Store, user *models.ConsoleUser) error {
		return s.EndConsoleSessions(ctx, user.ID, uuid.Nil)
	})
}
