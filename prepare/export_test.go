package prepare

// ParseTag exports parseTag for tests.
var ParseTag = parseTag
