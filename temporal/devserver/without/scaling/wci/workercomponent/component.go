// Package workercomponent replaces the workers that start workers with an empty module.
package workercomponent

import "go.uber.org/fx"

// Module provides nothing.
var Module = fx.Options()
