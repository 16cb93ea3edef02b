// Package workercomponent is an empty replacement for the server component that starts workers at cloud providers.
package workercomponent

import "go.uber.org/fx"

// Module contains nothing.
var Module = fx.Options()
