// Package workercomponent replaces the workers that start workers: there are none.
package workercomponent

import "go.uber.org/fx"

// Module provides nothing.
var Module = fx.Options()
