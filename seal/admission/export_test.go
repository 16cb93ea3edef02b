package admission

// MaxSigners exports maxSigners for tests.
const MaxSigners = maxSigners

//nolint:gochecknoglobals // for tests
var (
	Examine = examine
	Signers = signers
)
