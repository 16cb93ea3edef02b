// Package option replaces the options of Google's API clients. No such client is created.
package option

import "golang.org/x/oauth2"

// ClientOption is an option of a client.
type ClientOption interface{ option() }

type none struct{}

func (none) option() {}

// WithTokenSource returns an option without effect.
func WithTokenSource(oauth2.TokenSource) ClientOption { return none{} }
