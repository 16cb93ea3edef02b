// Package workercomponent replaces the server component that starts workers at cloud providers with an empty module.
package workercomponent

import "go.uber.org/fx"

// Module is empty.
var Module = fx.Options()
