package kit

// PostgresTemplate returns the name of the migrated template database of a server.
var PostgresTemplate = postgresTemplate

// TemplatePrefix exports templatePrefix for tests.
const TemplatePrefix = templatePrefix
