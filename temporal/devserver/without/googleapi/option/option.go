// Package option stands in for the options of Google's clients, of which none is made.
package option

import "golang.org/x/oauth2"

// ClientOption is an option.
type ClientOption interface{ option() }

type none struct{}

func (none) option() {}

// WithTokenSource takes a source of tokens.
func WithTokenSource(oauth2.TokenSource) ClientOption { return none{} }
