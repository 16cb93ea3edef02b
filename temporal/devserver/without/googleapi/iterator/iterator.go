// Package iterator stands in for what tells the end of a listing at Google's clients.
package iterator

import "errors"

// Done is that end.
var Done = errors.New("no more items in iterator")
