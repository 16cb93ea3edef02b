package activities

// NewSealJob is what an envelope is sealed from.
var NewSealJob = newSealJob
