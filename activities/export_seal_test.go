package activities

// NewSealJob exports newSealJob.
var NewSealJob = newSealJob
