// Package iterator replaces the iterator package of Google's API clients.
package iterator

import "errors"

// Done is the error that marks the end of an iteration.
var Done = errors.New("no more items in iterator")
