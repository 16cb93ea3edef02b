// Package iterator replaces the package for the end of a listing in Google's clients.
package iterator

import "errors"

// Done marks the end of an iteration.
var Done = errors.New("no more items in iterator")
