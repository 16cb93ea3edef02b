package picture

// MaxPNGSide is for tests.
const MaxPNGSide = maxPNGSide
