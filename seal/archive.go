package seal

import "context"

// maxArchiveStamps bounds how often a document's time-stamp can be renewed.
const maxArchiveStamps = 64

func (v *verifier) checkArchive(context.Context) error { return nil }
