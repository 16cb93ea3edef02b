package picture

// MaxPNGSide exports maxPNGSide for tests.
const MaxPNGSide = maxPNGSide
