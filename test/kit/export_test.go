package kit

// PostgresTemplate returns the name of a server's migrated database.
var PostgresTemplate = postgresTemplate

// TemplatePrefix exports templatePrefix to the tests.
const TemplatePrefix = templatePrefix
